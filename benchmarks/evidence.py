"""What the gallery claims, run and written down: docs/evidence.md.

    .venv/bin/python benchmarks/evidence.py [density] [baselines] [best] [contrast] [scores] [gallery] [seeds] \\
        [--only WORD] [--seeds N] [--workers N]

`density` takes the specs density-*.yaml, one for each objective, on both toys with ten seeds: how near they come, and
whether any diverges. `best` draws 10,000 samples from the best of them, `contrast` sets the noise-contrastive ones side
by side, `scores` trains score networks with five seeds, and `gallery` runs every other spec of specs/gallery with its
own seed. `baselines` fits a Gaussian and a mixture by expectation maximisation to both toys; `seeds` runs every spec
with ten seeds that it was not written with, counts how often its claim holds, and ranks the Boltzmann machines.
`--seeds` is the number of seeds of `density` and `seeds`, if not ten. What is known goes to .cache/evidence.jsonl as
soon as it is known, and a second call continues from there; the page is written again at the end of every call, where
sections and rows of which nothing is known stay as they are. A spec that has changed since is run again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "specs" / "gallery"
KNOWN = ROOT / ".cache" / "evidence.jsonl"
PAGE = ROOT / "docs" / "evidence.md"

SECTIONS = ("density", "baselines", "best", "contrast", "scores", "gallery", "seeds")
BEST = "density-best"
#: The sliced Wasserstein distance that the best is to reach.
AIMS = {"two_moons": 0.014, "eight_gaussians": 0.04}
TOYS, FIVE, TEN = tuple(AIMS), range(5), range(10)
#: Score networks on both toys, and the median of their distances that is wanted.
SCORES = {
    "ncsn-two-moons": 0.04,
    "vp-two-moons": 0.04,
    "potential-two-moons": 0.04,
    "ncsn-eight-gaussians": 0.08,
    "vp-eight-gaussians": 0.08,
}
#: Where trained scores are compared with exact ones, level by level.
LEVELS = "score-rare-regions-levels"
#: The methods of table 3.1 of Xu's thesis, and whether they are adversarial.
CONTRASTED = {"nce": "no", "conditional-nce": "no", "adversarial-ce": "yes", "flow-ce": "yes", "adaptive-nce": "no"}
#: Seeds that no spec was written with.
FRESH = range(101, 111)
#: Restricted Boltzmann machines that differ in the objective only, and other machines with what is measured of them.
RANKED = "rbm-digits-"
MACHINES = {
    "gaussian-rbm-fisher": ("log_likelihood", "reconstruction_error"),
    "gaussian-rbm-cd": ("log_likelihood", "reconstruction_error"),
    "dbn-digits": ("variational_bound", "variational_bound_gain"),
}
#: Numbers of components of the fitted baselines, and iterations of expectation maximisation.
BASELINES, ITERATIONS = {"fitted Gaussian": 1, "mixture of 8 by EM": 8}, 100
#: What a step costs is the difference between two lengths of training.
BRIEF, LONGER = 50, 1050

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """A spec of the gallery, and what is changed in it."""

    section: str
    spec: str
    sets: tuple[str, ...] = ()

    def run(self) -> Row:
        """The numbers, or how it ended."""
        import ebmkit
        from ebmkit.errors import EbmkitError

        began, processor = time.perf_counter(), time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            try:
                record = ebmkit.run(self.plan(), runs_dir=Path(folder), report=False)
                found = {"results": record.results, "unmet": list(map(str, record.mistakes))}
                found |= {"learnt": last(record.folder / "metrics.jsonl", "log_z")}
            except EbmkitError as error:
                found = {"error": f"{error.code}: {error.message}"}
        cpu, seconds = time.process_time() - processor, time.perf_counter() - began
        return {**asdict(self), "hash": self.hash, **found, "seconds": round(seconds, 1), "cpu": round(cpu, 3)}

    def plan(self) -> Any:
        import ebmkit

        spec = baseline(BASELINES[self.spec], self.sets) if self.spec in BASELINES else GALLERY / f"{self.spec}.yaml"
        return ebmkit.load_spec(spec, sets=list(self.sets))

    @property
    def hash(self) -> str:
        """Of the spec with every default: another one is another trial."""
        return str(self.plan().hash)


def baseline(components: int, sets: tuple[str, ...]) -> dict[str, Any]:
    """A mixture of Gaussians, fitted to the training points, as a spec that measures it as the others are."""
    import ebmkit
    from ebmkit.components.noise.nets.mixture_fit import fit_mixture
    from ebmkit.engine.points import training_points

    toy = {"ebmkit": 1, "name": "baseline", "data": TOYS[0], "sampler": "exact", "evaluate": ["kl_divergence"]}
    points = training_points(ebmkit.load_spec({**toy, "model": "mlp", "sampler": "langevin"}, sets=list(sets)))
    assert points is not None
    weights, means, covariances = (each.tolist() for each in fit_mixture(points.double(), components, ITERATIONS))
    mixture = {"use": "gaussian_mixture", "means": means, "covariances": covariances, "weights": weights}
    return {**toy, "model": mixture, "evaluate": ["kl_divergence", "sliced_wasserstein"]}


def last(file: Path, name: str) -> float | None:
    """The last value of a number that training recorded."""
    lines = file.read_text().splitlines() if file.exists() else []
    values = [row[name] for row in map(json.loads, lines) if name in row]
    return values[-1] if values else None


def trials(sections: list[str], most: int) -> Iterator[Trial]:
    specs = sorted(path.stem for path in GALLERY.glob("*.yaml"))
    if "density" in sections:
        # What the specs claim of one toy comes first, seed by seed: a call that is broken off has some of everything.
        for seed, toy in sorted(
            product(TEN[:most], TOYS), key=lambda pair: (pair[0] >= 5, TOYS.index(pair[1]), pair[0])
        ):
            yield from (Trial("density", name, sets(toy, seed)) for name in specs if is_objective(name))
    if "baselines" in sections:
        yield from (Trial("baselines", name, sets(toy, seed)) for name in BASELINES for toy in TOYS for seed in TEN)
    if "best" in sections:
        yield from (Trial("best", BEST, sets(toy, seed)) for seed in FIVE for toy in TOYS)
    if "contrast" in sections:
        for name in CONTRASTED:
            yield Trial(
                "contrast",
                f"density-{name}",
                (*sets(TOYS[0], 0), "train.ema=0", "evaluate=[kl_divergence, log_likelihood]"),
            )
            for steps in (BRIEF, LONGER):
                yield Trial("cost", f"density-{name}", (*sets(TOYS[0], 0), f"train.steps={steps}", "evaluate=[]"))
    if "scores" in sections:
        yield from (Trial("scores", name, (f"seed={seed}", "expect=[]")) for seed in FIVE for name in SCORES)
    if "gallery" in sections:
        yield from (Trial("gallery", name) for name in specs if not name.startswith("density-"))
    if "seeds" in sections:
        yield from (
            Trial("seeds", name, (f"seed={seed}", "samples_every=null")) for seed in FRESH[:most] for name in specs
        )


def is_objective(name: str) -> bool:
    return name.startswith("density-") and name != BEST


def sets(toy: str, seed: int) -> tuple[str, ...]:
    # What is claimed of one toy is compared below.
    return (f"data={toy}", f"seed={seed}", "samples_every=null", "expect=[]")


def known() -> dict[Trial, Row]:
    """What earlier calls found, by what it was asked of."""
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    rows = map(json.loads, lines)
    return {Trial(row["section"], row["spec"], tuple(row["sets"])): row for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what the gallery claims, and write docs/evidence.md.")
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []])
    parser.add_argument("--only", default="", metavar="WORD", help="specs with this word in their name")
    parser.add_argument("--seeds", type=int, default=10, help="of density and seeds")
    parser.add_argument("--workers", type=int, default=2)
    words = parser.parse_args()
    found = known()
    wanted = [
        trial
        for trial in trials(words.section, words.seeds)
        if words.only in trial.spec and (trial not in found or found[trial]["hash"] != trial.hash)
    ]
    KNOWN.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(words.workers) as pool, KNOWN.open("a") as file:
        for number, future in enumerate(as_completed([pool.submit(trial.run) for trial in wanted]), start=1):
            row = future.result()
            print(json.dumps(row), file=file, flush=True)
            outcome = row.get("error") or {name: f"{value:.4g}" for name, value in row["results"].items()}
            print(f"[{number}/{len(wanted)}] {row['spec']} {' '.join(row['sets'][:2])}: {outcome}", flush=True)
    PAGE.write_text(kept(PAGE.read_text(), page(list(known().values()))))


#: The sections of the page, in order.
HEADS = (
    "# Evidence",
    "Density estimation in the plane",
    "Baselines",
    "The best of them",
    "Five ways to contrast",
    "Score networks",
    "Scores against the truth, level by level",
    "Boltzmann machines, by objective",
    "The gallery",
    "Fresh seeds",
    "Default parameters on other data",  # by own_data.py
)

# The page -------------------------------------------------------------------------------------------------------------


def kept(before: str, after: str) -> str:
    """The page after a call, with the sections and the rows before it of which nothing is known now."""
    old, new = ({part.split("\n")[0]: part for part in text.split("\n## ")} for text in (before, after))
    order = [*new, *(head for head in old if head not in new)]
    order.sort(key=lambda head: HEADS.index(head) if head in HEADS else -1)
    return "\n## ".join(merged(old.get(head, ""), new.get(head, "")).strip("\n") + "\n" for head in order)


def merged(old: str, new: str) -> str:
    """A section with the rows of its old table that the new one lacks, if both have one with the same head."""
    tables = [[line for line in text.split("\n") if line.startswith("|")] for text in (old, new)]
    if not new or not all(tables) or tables[0][0] != tables[1][0]:
        return new or old
    rows = {line.split("|")[1]: line for table in tables for line in table[2:]}
    return new.replace("\n".join(tables[1]), "\n".join([*tables[1][:2], *(rows[name] for name in sorted(rows))]))


def page(rows: list[Row]) -> str:
    by_section = {name: [row for row in rows if row["section"] == name] for name in (*SECTIONS, "cost")}
    parts = [
        "# Evidence",
        f"Made by `python benchmarks/evidence.py {' '.join(SECTIONS)}` from runs on a CPU, one thread each. Nothing "
        "here is copied by hand.",
    ]
    if by_section["density"]:
        parts += density(by_section["density"])
    if by_section["baselines"]:
        parts += baselines(by_section["baselines"])
    if by_section["best"]:
        parts += best(by_section["best"])
    if by_section["contrast"]:
        parts += contrast(by_section["contrast"], by_section["cost"])
    if by_section["scores"]:
        parts += scores(by_section["scores"])
    if by_section["gallery"]:
        parts += levels(by_section["gallery"])
        parts += gallery(by_section["gallery"])
    if by_section["seeds"]:
        parts += boltzmann(by_section["seeds"])
        parts += seeds(by_section["seeds"])
    return "\n\n".join(parts) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """In Markdown; columns of numbers are right-aligned."""
    names, cells = list(head), [[cell.replace("|", "\\|") for cell in row] for row in rows]
    sides = [
        "---:" if all(row[k].removeprefix("-")[:1].isdigit() for row in cells) else "---" for k in range(len(names))
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, sides, *cells])


def density(rows: list[Row]) -> Iterator[str]:
    yield "## Density estimation in the plane"
    yield (
        "KL(data || model) in nats by quadrature, against the density that the points are drawn from. `claimed` is "
        "what its spec says of two moons. A run is finished when every number in it was finite. Objectives have their "
        "default parameters, but for two that would be the same as another: with them `adaptive_bregman` is "
        "`adaptive_nce`, and `sliced_score_matching` is `hutchinson_score_matching`; `denoising_score_matching` and "
        "`conditional_nce` have noise that suits these toys. The specs differ in steps, batch and learning "
        "rate. `jem`, `closed_form_score_matching` and `explicit_score_matching` want more than points "
        "and are not here. To see one: `ebmkit run specs/gallery/density-nce.yaml --set data=eight_gaussians --set "
        "seed=3`."
    )
    head = ["objective", "claimed", *(f"{toy}: {word}" for toy in TOYS for word in ("finished", "median KL", "worst"))]
    lines = []
    for name in sorted({row["spec"] for row in rows}):
        cells = [name.removeprefix("density-").replace("-", "_"), dict(expectations(name))["kl_divergence"]]
        for toy in TOYS:
            mine = [row for row in rows if row["spec"] == name and f"data={toy}" in row["sets"]]
            fine = [row["results"]["kl_divergence"] for row in mine if "results" in row]
            cells.append(f"{len(fine)} of {len(mine)}")
            cells += [f"{median(fine):.3f}", f"{max(fine):.3f}"] if fine else ["-", "-"]
        cells.append(f"{median(row['cpu'] for row in rows if row['spec'] == name):.0f}")
        lines.append(cells)
    yield table([*head, "CPU seconds"], lines)
    failed = [f"- `{row['spec']}` {' '.join(row['sets'][:2])}: {row['error']}" for row in rows if "error" in row]
    if failed:
        yield "\n".join(failed)


def baselines(rows: list[Row]) -> Iterator[str]:
    yield f"## {HEADS[2]}"
    yield (
        "The same numbers of densities that need no network, fitted to the same 10,000 training points, ten seeds: "
        "what a model of these toys has to improve on. The mixture is fitted by "
        f"{ITERATIONS} iterations of expectation maximisation. Distances are of 10,000 samples."
    )
    head = ["model", *(f"{toy}: {word}" for toy in TOYS for word in ("median KL", "worst", "median distance"))]
    lines = []
    for name in BASELINES:
        cells = [name]
        for toy in TOYS:
            mine = [row["results"] for row in rows if row["spec"] == name and f"data={toy}" in row["sets"]]
            divergences = [each["kl_divergence"] for each in mine]
            cells += [f"{median(divergences):.3f}", f"{max(divergences):.3f}"]
            cells.append(f"{median(each['sliced_wasserstein'] for each in mine):.4f}")
        lines.append(cells)
    yield table(head, lines)


def all_met(name: str, results: dict[str, float]) -> bool:
    """Whether results meet what a spec claims now: a bound may have changed since the run, which it does not affect."""
    import ebmkit
    from ebmkit.engine.expectations import is_met

    claims = ebmkit.load_spec(GALLERY / f"{name}.yaml").spec.expect
    return all(claim.metric in results and is_met(claim, results[claim.metric]) for claim in claims)


def seeds(rows: list[Row]) -> Iterator[str]:
    yield "## Fresh seeds"
    yield (
        f"The claims of specs with the seeds {FRESH[0]} to {FRESH[-1]}, which are not those of the specs: how often "
        "all of them held, and the least and the largest value of each. A spec that was run with fewer of them was run "
        "with the first ones; one that is not listed was not run with any."
    )
    lines = []
    for name in sorted({row["spec"] for row in rows}):
        mine = [row for row in rows if row["spec"] == name]
        held = sum(all_met(name, row.get("results", {})) for row in mine)
        cells = []
        for metric, bound in expectations(name):
            values = [row["results"][metric] for row in mine if metric in row.get("results", {})]
            cells.append(f"{metric} {bound}: {min(values):.3g} to {max(values):.3g}" if values else f"{metric}: failed")
        lines.append([name, f"{held} of {len(mine)}", "; ".join(cells)])
    yield table(["spec", "held", "claims and what was found"], lines)


def boltzmann(rows: list[Row]) -> Iterator[str]:
    """Machines of one size by several objectives, ranked by what none of them optimises."""
    found = {name: finished(rows, name) for name in {row["spec"] for row in rows}}
    ranked = {name: mine for name, mine in found.items() if name.startswith(RANKED) and mine}
    if not ranked:
        return
    yield "## Boltzmann machines, by objective"
    yield (
        "Restricted Boltzmann machines with 20 hidden units on binarised 8 x 8 digits: exact mean log-likelihood of "
        "held-out digits in nats, by enumeration of the hidden layer, after the same number of updates with the same "
        "optimizer. Independent pixels have -25.2. CPU seconds are those of a whole run with its evaluation. The seeds "
        "are those of the section on fresh seeds. To see one: `ebmkit run specs/gallery/rbm-digits-cd1.yaml`."
    )
    lines = []
    for name, mine in ranked.items():
        values = [row["results"]["log_likelihood"] for row in mine]
        figures = [f"{value:.2f}" for value in (median(values), min(values), max(values))]
        lines.append([name.removeprefix(RANKED), str(len(mine)), *figures, f"{median(row['cpu'] for row in mine):.0f}"])
    lines.sort(key=lambda line: -float(line[2]))
    yield table(["objective", "seeds", "median", "worst", "best", "CPU seconds"], lines)
    others = []
    for name, metrics in MACHINES.items():
        for metric in metrics if found.get(name) else ():
            values = [row["results"][metric] for row in found[name]]
            figures = [f"{value:.3g}" for value in (median(values), min(values), max(values))]
            seconds = median(row["cpu"] for row in found[name])
            others.append([name, metric, str(len(values)), *figures, f"{seconds:.0f}"])
    if others:
        yield (
            "Others: a Gaussian-Bernoulli machine with 784 visible and 30 hidden units by the Fisher objective and by "
            "contrastive divergence in the same training time, with an exact log-likelihood by a sum over 2^30 hidden "
            "states; and the gain of the second layer of a deep belief network in a lower bound of its log-likelihood."
        )
        yield table(["spec", "measured", "seeds", "median", "least", "largest", "CPU seconds"], others)


def finished(rows: list[Row], name: str) -> list[Row]:
    """The runs of a spec that ended with results."""
    return [row for row in rows if row["spec"] == name and "results" in row]


def best(rows: list[Row]) -> Iterator[str]:
    yield "## The best of them"
    yield (
        "Sliced Wasserstein distance of 10,000 samples to 10,000 held-out points. `floor` is that of the 10,000 "
        f"training points. To see one: `ebmkit run specs/gallery/{BEST}.yaml --set data=two_moons --set seed=0`."
    )
    lines = []
    for toy in TOYS:
        fine = [row["results"] for row in rows if f"data={toy}" in row["sets"] and "results" in row]
        distances, floors, kls = (
            [each[name] for each in fine]
            for name in ("sliced_wasserstein", "sliced_wasserstein_floor", "kl_divergence")
        )
        seeds = ", ".join(f"{distance:.4f}" for distance in distances)
        lines.append(
            [toy, seeds, *(f"{value:.4f}" for value in (*map(median, (distances, floors)), AIMS[toy], median(kls)))]
        )
    yield table(["data", "seeds 0 to 4", "median", "median floor", "wanted", "median KL"], lines)


def contrast(rows: list[Row], costs: list[Row]) -> Iterator[str]:
    yield "## Five ways to contrast"
    yield (
        "Table 3.1 of Xu's thesis with measured columns: two moons, seed 0, without a running mean of the weights. A "
        "method normalises itself if it learns log Z; its value is compared with log Z by quadrature. A step is CPU "
        f"time: the difference between {LONGER} and {BRIEF} steps, per step. KL is measured after the steps of each "
        "spec."
    )
    lines = []
    for name, adversarial in CONTRASTED.items():
        row = next(row for row in rows if row["spec"] == f"density-{name}")
        brief, longer = (
            next(
                row["cpu"]
                for row in costs
                if row["spec"] == f"density-{name}" and f"train.steps={steps}" in row["sets"]
            )
            for steps in (BRIEF, LONGER)
        )
        results, learnt = row["results"], row["learnt"]
        lines.append(
            [
                name.replace("-", "_"),
                adversarial,
                "no" if learnt is None else f"{learnt:.3f}",
                f"{results['log_normaliser']:.3f}",
                f"{1e3 * (longer - brief) / (LONGER - BRIEF):.1f}",
                f"{results['kl_divergence']:.3f}",
            ]
        )
    yield table(["objective", "adversarial", "learned log Z", "log Z", "ms per step", "KL"], lines)


def scores(rows: list[Row]) -> Iterator[str]:
    yield "## Score networks"
    yield (
        "Sliced Wasserstein distance of 10,000 samples to 10,000 held-out points. `floor` is that of the 10,000 "
        "training points. To see one: `ebmkit run specs/gallery/vp-two-moons.yaml --set seed=3`."
    )
    lines = []
    for name, wanted in SCORES.items():
        mine = sorted((row for row in rows if row["spec"] == name and "results" in row), key=lambda row: row["sets"])
        distances, floors = (
            [row["results"][word] for row in mine] for word in ("sliced_wasserstein", "sliced_wasserstein_floor")
        )
        seeds = ", ".join(f"{distance:.4f}" for distance in distances)
        figures = [f"{value:.4f}" for value in (*map(median, (distances, floors)), wanted)]
        lines.append([name, seeds, *figures, f"{median(row['cpu'] for row in mine):.0f}"])
    yield table(["spec", "seeds 0 to 4", "median", "median floor", "wanted", "CPU seconds"], lines)


def levels(rows: list[Row]) -> Iterator[str]:
    """Of trained scores, the error at each level of noise."""
    found = [row["results"] for row in rows if row["spec"] == LEVELS and "results" in row]
    if not found:
        return
    yield "## Scores against the truth, level by level"
    yield (
        "E|s - s_q|^2 / E|s_q|^2 over noised held-out data, from the most noise to the least, of a network and of the "
        f"exact noised mixture: `ebmkit run specs/gallery/{LEVELS}.yaml`."
    )
    errors = {name: value for name, value in found[-1].items() if name.startswith("fisher_relative_")}
    places = [name.removeprefix("fisher_relative_") for name in errors]
    yield table(["level", *places], [["relative error", *(f"{value:.2g}" for value in errors.values())]])


def gallery(rows: list[Row]) -> Iterator[str]:
    yield "## The gallery"
    yield "Every spec states its claim in its first lines and checks it itself: `ebmkit run specs/gallery/NAME.yaml`."
    lines = []
    for row in sorted(rows, key=lambda row: row["spec"]):
        claims = expectations(row["spec"])
        results = row.get("results", {})
        found = ", ".join(f"{name} {results[name]:.4g}" for name in dict(claims) if name in results)
        held = "no: " + row["error"] if "error" in row else "no" if row["unmet"] else "yes"
        wanted = ", ".join(f"{name} {bound}" for name, bound in claims)
        lines.append([row["spec"], wanted, found, held, f"{row['seconds']:.0f}"])
    yield table(["spec", "claims", "found", "held", "seconds"], lines)


def expectations(name: str) -> list[tuple[str, str]]:
    import ebmkit

    bounds = []
    for claim in ebmkit.load_spec(GALLERY / f"{name}.yaml").spec.expect:
        above = "" if claim.above is None else f"> {claim.above:g}"
        below = "" if claim.below is None else f"< {claim.below:g}"
        bounds.append((claim.metric, " and ".join(filter(None, (above, below)))))
    return bounds


if __name__ == "__main__":
    main()
