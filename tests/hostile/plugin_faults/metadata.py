"""Faults of the metadata of a distribution."""

# lines of the plugins below

from __future__ import annotations

from .fault import Fault


def faulty_metadata(lines: str) -> str:
    return f"Metadata-Version: 2.1\nName: DISTRIBUTION\n{lines}"


METADATA = {
    "damaged metadata": Fault(metadata=b"\xff\xfe\x00", reason="metadata", when="metadata", shown="FOLDER"),
    "no metadata": Fault(metadata=None, reason="metadata has no", when="metadata", shown="FOLDER"),
    "no version": Fault(metadata="Metadata-Version: 2.1\nName: DISTRIBUTION\n", reason="no version", when="metadata"),
    "no name": Fault(
        metadata="Metadata-Version: 2.1\nVersion: 1.0\n", reason="no name", when="metadata", shown="FOLDER"
    ),
    "a version that is none": Fault(
        metadata=faulty_metadata("Version: banana\n"), reason="'banana' is not a version", when="metadata"
    ),
    "another major version of ebmkit": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: ebmkit-core>=99\n"),
        reason="needs ebmkit-core>=99",
        when="metadata",
    ),
    "an older ebmkit": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: EBMkit_Core<0.0.1\n"),
        reason="needs ebmkit-core<0.0.1",
        when="metadata",
    ),
    "the namesake": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: ebmkit\n"), reason="another project", when="metadata"
    ),
    "a malformed requirement": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: ebmkit-core >>> 1 ???\n"),
        reason="cannot be read",
        when="metadata",
    ),
    "entry points that are not text": Fault(
        entry_points=b"[ebmkit]\nNAMESPACE = \xff\xfe\n", reason="not text in UTF-8", when="metadata", spec=""
    ),
    "an entry point named twice": Fault(
        entry_points="[ebmkit]\nNAMESPACE = MODULE\nNAMESPACE = json\n", reason="twice", when="metadata"
    ),
    "an entry point without a value": Fault(entry_points="[ebmkit]\nNAMESPACE =\n", reason="importing it raised"),
    "an entry point that is no path": Fault(
        entry_points="[ebmkit]\nNAMESPACE = not a module!\n", reason="importing it raised"
    ),
    "an entry point of a missing attribute": Fault(
        entry_points="[ebmkit]\nNAMESPACE = MODULE:nothing\n", reason="importing it raised AttributeError"
    ),
    "an entry point of a class": Fault(
        entry_points="[ebmkit]\nNAMESPACE = MODULE:Square\n", reason="must name a module"
    ),
    "a namespace claimed twice": Fault(reason="several distributions claim", when="metadata", twin=True),
    "capital letters in the namespace": Fault(
        entry_points="[ebmkit]\nNAMESPACELoud = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a path in the namespace": Fault(
        entry_points="[ebmkit]\n../../NAMESPACE = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a verb as namespace": Fault(
        entry_points="[ebmkit]\nreport = MODULE\n",
        reason="'report' is taken by ebmkit itself",
        when="metadata",
        spec="",
    ),
    "the namespace ebmkit": Fault(
        entry_points="[ebmkit]\nebmkit = MODULE\n",
        reason="'ebmkit' is taken by ebmkit itself",
        when="metadata",
        spec="",
    ),
    "ten thousand namespaces": Fault(
        entry_points="[ebmkit]\n" + "".join(f"NAMESPACE_{n} = MODULE\n" for n in range(10_000)),
        reason="it names 10000 plugins",
        when="metadata",
        spec="",
    ),
    "a module name of megabytes": Fault(
        entry_points=f"[ebmkit]\nNAMESPACE = {'m' * 2_000_000}\n", reason="importing it raised ModuleNotFoundError"
    ),
    "an entry point of another library": Fault(entry_points="[ebmkit]\nNAMESPACE = colorsys\n", when="never", spec=""),
    "a terminal escape in the namespace": Fault(
        entry_points="[ebmkit]\nNAMESPACE\x1b[31m = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a direction mark in the namespace": Fault(
        entry_points="[ebmkit]\nNAMESPACE\u202e = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a very long namespace": Fault(
        entry_points=f"[ebmkit]\nNAMESPACE{'x' * 5000} = MODULE\n", reason="at most 64", when="metadata", spec=""
    ),
    "a terminal escape in the name": Fault(
        metadata="Metadata-Version: 2.1\nName: DISTRIBUTION\x1b[31m\u202e\nVersion: 1.0\n",
        code="1 / 0",
        reason="ZeroDivisionError",
        shown="DISTRIBUTION\\x1b[31m\\u202e",
    ),
    "an unreadable record": Fault(files={"RECORD": b"\xff\xfe,,,\n"}, when="never"),
}
