"""One thread, and the files that the data sets read by default and in their examples."""

import numpy as np
import pytest
from safetensors.numpy import save_file


@pytest.fixture(autouse=True)
def _one_thread(one_thread):
    pass


@pytest.fixture(scope="session")
def _folder_with_data(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    points, images = rng.normal(size=(60, 2)), rng.integers(256, size=(60, 1, 4, 4), dtype=np.uint8)
    np.save(folder / "data.npy", points)
    np.savez(folder / "data.npz", x=points)
    np.savez(folder / "blobs.npz", points=points)
    np.savetxt(folder / "data.csv", points, delimiter=",")
    for name in ("data.txt", "letters.txt"):
        (folder / name).write_text("".join("abc d"[k] for k in rng.integers(5, size=300)))
    words = [",".join(rng.choice(["a", "b", "c"], size=3)) for _ in range(60)]
    (folder / "mushrooms.csv").write_text("\n".join(["cap,odour,ring", *words]))
    for name, table in (("flowers.csv", points), ("more_flowers.csv", -points)):
        rows = (f"{length},{width},{('setosa', 'virginica')[row % 2]}" for row, (length, width) in enumerate(table))
        (folder / name).write_text("\n".join(["petal_length,petal_width,species", *rows]))
    save_file({"images": images}, folder / "images.safetensors")
    return folder


@pytest.fixture(autouse=True)
def _in_it(_folder_with_data, monkeypatch):
    monkeypatch.chdir(_folder_with_data)
