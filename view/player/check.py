"""Does a Picture agree with itself? Asked before packing: a mistake is named in Python, not in the browser."""

import numpy as np

from view.player.picture import UI_KEYS, AnyTrack, Area, Column, ImageTrack, Picture, Playhead, Polys, Texts, Track


def check(picture: Picture) -> None:
    """Raise ValueError, naming field, value and what it should be, at the first contradiction."""
    if not (picture.count > 0 and picture.start >= 0 and picture.start + picture.count <= picture.total):
        raise ValueError(f"window [{picture.start}, +{picture.count}) does not lie in [0, {picture.total})")
    if missing := [key for key in UI_KEYS if key not in picture.ui]:
        raise ValueError(f"ui lacks {', '.join(missing)}")
    moved: set[int] = set()
    for number, track in enumerate(picture.tracks):
        where = f"tracks[{number}] ({type(track).__name__} of trace {track.trace})"
        if track.trace in moved:
            raise ValueError(f"{where}: another track moves this trace already")
        moved.add(track.trace)
        _check_track(picture, track, where)
    for number, image in enumerate(picture.images):
        _check_image(picture, image, f"images[{number}]")
    for number, area in enumerate(picture.areas):
        _check_area(picture, area, f"areas[{number}] ({area.name})")
    if picture.clock is not None:
        _same_length(len(picture.clock), picture.total, "clock", "steps")
    for name, texts in picture.slots.items():
        _same_length(len(texts), picture.count, f"slots[{name!r}]", "frames")


def _check_track(picture: Picture, track: AnyTrack, where: str) -> None:
    data = picture.figure["data"]
    if not 0 <= track.trace < len(data):
        raise ValueError(f"{where}: the figure has {len(data)} traces")
    if data[track.trace].get("type", "scatter") != "scatter":
        raise ValueError(f"{where}: type is {data[track.trace]['type']!r}, but only scatter traces can move")
    if isinstance(track, Playhead):
        if track.x is not None:
            _same_length(len(track.x), picture.count, f"{where}.x", "frames")
        return
    items = _check_offsets(track.offsets, picture.count, where)
    _check_columns(track, items, where)
    if track.along == "cell" and not 0 <= track.image < len(picture.images):
        raise ValueError(f"{where}: image {track.image} of {len(picture.images)}")
    if track.show != "all" and track.ids is None:
        raise ValueError(f'{where}: show="{track.show}" needs ids')


def _check_columns(track: Track, items: int, where: str) -> None:
    names = ("row", "ids", "x", "y", "x0", "x1", "y0", "y1")
    for name in names:
        column = getattr(track, name, None)
        if isinstance(column, np.ndarray):
            _same_length(len(column), items, f"{where}.{name}", "items")
    if isinstance(track, Texts):
        _same_length(len(track.text), items, f"{where}.text", "items")
    if isinstance(track, Polys) and track.along:
        raise ValueError(f"{where}: polygons have no rows, along must be ''")


def _check_offsets(offsets: Column, count: int, where: str) -> int:
    _same_length(len(offsets), count + 1, f"{where}.offsets", "frames + 1")
    if offsets[0] != 0 or (np.diff(offsets.astype(np.int64)) < 0).any():
        raise ValueError(f"{where}.offsets must start with 0 and never fall")
    return int(offsets[-1])


def _check_image(picture: Picture, image: ImageTrack, where: str) -> None:
    frames, cells = image.cells.shape
    _same_length(frames, picture.count, f"{where}.cells", "frames")
    for rows, cols in ((image.rows, image.cols), image.phone or (image.rows, image.cols)):
        if rows * cols < cells:
            raise ValueError(f"{where}: {rows} rows of {cols} do not hold {cells} cells")
    if image.cells.size and int(image.cells.max()) >= len(image.palette):
        raise ValueError(f"{where}: state {int(image.cells.max())}, but the palette has {len(image.palette)}")
    if image.ids is not None and image.ids.shape != image.cells.shape:
        raise ValueError(f"{where}: ids {image.ids.shape} and cells {image.cells.shape} differ in shape")


def _check_area(picture: Picture, area: Area, where: str) -> None:
    if area.along == "cell" and not 0 <= area.image < len(picture.images):
        raise ValueError(f"{where}: image {area.image} of {len(picture.images)}")
    if area.along not in ("x", "y"):
        return
    if area.offsets is None:
        raise ValueError(f"{where}: a list needs offsets")
    items = _check_offsets(area.offsets, picture.count, where)
    for name, column in {"row": area.row, "ids": area.ids, **area.columns}.items():
        if column is not None:
            _same_length(len(column), items, f"{where}.{name}", "items")


def _same_length(got: int, wanted: int, what: str, unit: str) -> None:
    if got != wanted:
        raise ValueError(f"{what} has {got} entries, but there are {wanted} {unit}")
