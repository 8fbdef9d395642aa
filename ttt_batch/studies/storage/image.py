"""Structure of a study's file, made by the HDF5 library in memory.

Arrays of results get offsets but no content, so a file of any size takes a few pages here.  The disk space is then
reserved in one call, because the HDF5 library does not recover from a full disk.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ttt_batch.runs.runfile.declaration import STUDY_TYPE, version_text
from ttt_batch.runs.runfile.writing import write_attributes
from ttt_batch.studies.storage.declared import Array
from ttt_batch.studies.storage.header import FORMAT, Stored, labels_of

# Functions import h5py themselves because it costs 0.1 s at start-up.

_PAGE = 1 << 16


class FileImage(io.RawIOBase):
    """Sparse file in memory.  Only pages that were written take memory."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._at = self.size = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position and return it."""
        self._at = offset + (0, self._at, self.size)[whence]
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the file's size.  HDF5 never makes it smaller than the written content."""
        self.size = self._at if size is None else size
        return self.size

    def write(self, content: Any) -> int:
        """Write at the position and return the number of bytes."""
        view, begin = memoryview(content).cast("B"), self._at
        while self._at < begin + len(view):
            page, at = divmod(self._at, _PAGE)
            part = view[self._at - begin :][: _PAGE - at]
            self._pages.setdefault(page, bytearray(_PAGE))[at : at + len(part)] = part
            self._at += len(part)
        self.size = max(self.size, self._at)
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read from the position and return the number of bytes.  Bytes never written are zeros."""
        view, begin = memoryview(buffer).cast("B"), self._at
        while self._at < begin + len(view):
            page, at = divmod(self._at, _PAGE)
            part = view[self._at - begin :][: _PAGE - at]
            part[:] = self._pages.get(page, bytes(_PAGE))[at : at + len(part)]
            self._at += len(part)
        return len(view)

    def pages(self) -> Iterator[tuple[int, memoryview]]:
        """Yield every written page with its offset."""
        for page, content in sorted(self._pages.items()):
            yield page * _PAGE, memoryview(content)[: max(0, self.size - page * _PAGE)]


def make_image(
    layout: Sequence[Array], provenance: Mapping[str, str | int | float], header_size: int
) -> tuple[FileImage, dict[str, Stored]]:
    """Return an HDF5 file behind free space for the header, and the places of its arrays.

    All arrays are contiguous, and those of results have no content.  header_size: a power of two.
    """
    import h5py

    image = FileImage()
    stored = {}
    # Old HDF5 libraries can read "earliest".  Offsets at multiples of 8 allow memory mapping.
    options = {"userblock_size": header_size, "alignment_threshold": 1, "alignment_interval": 8}
    with h5py.File(image, "w", libver="earliest", **options) as file:
        for array in layout:
            dataset = _dataset(file, array)
            stored[array.path] = stored_as(array, int(dataset.id.get_offset()))
        for array in layout:
            for number, axis in enumerate(array.axes):
                scale = labels_of(stored, array.path, axis)
                if scale != array.path:
                    file[array.path].dims[number].attach_scale(file[scale])
        columns = [array.path for array in layout if array.content is not None and "/" not in array.path]
        coordinates = [path for path in columns if path not in stored[path].axes]
        root = {"file_type": STUDY_TYPE, "format_version": version_text(FORMAT), "coordinates": " ".join(coordinates)}
        write_attributes(file.attrs, {**root, **provenance})
    return image, stored


def stored_as(array: Array, offset: int = 0) -> Stored:
    """Return the header's entry for an array."""
    return Stored(array.dtype, array.shape, array.axes, offset, array.content is None)


def _dataset(file: Any, array: Array) -> Any:
    """Create an array in an open HDF5 file and return it."""
    import h5py
    from h5py import h5d, h5p, h5s, h5t

    kind = h5p.create(h5p.DATASET_CREATE)
    kind.set_layout(h5d.CONTIGUOUS)
    kind.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    kind.set_fill_time(h5d.FILL_TIME_NEVER)
    kind.set_obj_track_times(False)
    links = h5p.create(h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    space = h5s.create_simple(array.shape) if array.shape else h5s.create(h5s.SCALAR)
    made = h5d.create(file.id, array.path.encode(), h5t.py_create(array.dtype, logical=True), space, kind, links)
    dataset = h5py.Dataset(made)
    if array.content is not None:
        dataset[...] = array.content
    name = array.path.rpartition("/")[2]
    if array.axes == (name,):
        dataset.make_scale(name)
    labels = {"axes": ",".join(array.axes), "unit": array.unit, "meaning": array.meaning}
    # netCDF's mark of UTF-8 text, so that xarray shows text instead of bytes.
    write_attributes(dataset.attrs, labels | ({"_Encoding": "utf-8"} if array.dtype.kind == "S" else {}))
    return dataset
