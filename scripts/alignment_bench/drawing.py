"""A chart of lines with intervals, as an SVG that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from alignment_bench.summaries import Summary

COLOURS = ("#555555", "#c4451c", "#1b6ca8", "#2d7d46", "#8a4fa3", "#a87b00", "#0b7a75")
_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 480, 50, 370
_STYLE = "text{font:13px sans-serif;fill:#222}.t{font-size:15px;font-weight:600}.a{stroke:#999}.g{stroke:#ddd}"


def chart(title: str, x_title: str, xs: Sequence[int], lines: Mapping[str, Sequence[Summary]]) -> str:
    """A line for each name, from 0 to 1, with an interval at each x; a legend to the right."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(_in_words(xs, lines))}</desc><style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="t" x="{_LEFT}" y="24">{escape(title)}</text>',
        *_axes(x_title, xs),
    ]
    for index, (name, points) in enumerate(lines.items()):
        parts += _line(name, points, xs, index, (index - (len(lines) - 1) / 2) * 5)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _in_words(xs: Sequence[int], lines: Mapping[str, Sequence[Summary]]) -> str:
    at = " / ".join(map(str, xs))
    return f"At {at}: " + "; ".join(
        f"{name} {' / '.join(f'{point.mean:.2f}' for point in points)}" for name, points in lines.items()
    )


def _axes(x_title: str, xs: Sequence[int]) -> list[str]:
    parts = []
    for tick in range(0, 11, 2):
        y = _y(tick / 10)
        parts.append(f'<line class="g" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{tick / 10:.1f}</text>')
    parts.append(f'<line class="a" x1="{_LEFT}" x2="{_RIGHT}" y1="{_BOTTOM}" y2="{_BOTTOM}"/>')
    for index, value in enumerate(xs):
        parts.append(f'<text x="{_x(index, xs)}" y="{_BOTTOM + 18}" text-anchor="middle">{value}</text>')
    middle = (_LEFT + _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_BOTTOM + 40}" text-anchor="middle">{escape(x_title)}</text>')
    return parts


def _line(name: str, points: Sequence[Summary], xs: Sequence[int], index: int, shift: float) -> list[str]:
    colour = COLOURS[index % len(COLOURS)]
    places = [(round(_x(number, xs) + shift, 1), _y(point.mean)) for number, point in enumerate(points)]
    path = " ".join(f"{x},{y}" for x, y in places)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    for (x, y), point in zip(places, points, strict=True):
        ends = f'y1="{_y(max(0.0, point.low))}" y2="{_y(min(1.0, point.high))}"'
        parts.append(
            f'<line x1="{x}" x2="{x}" {ends} stroke="{colour}"/><circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>'
        )
    y = _TOP + 12 + index * 24
    parts.append(f'<rect x="{_RIGHT + 24}" y="{y - 10}" width="14" height="10" fill="{colour}"/>')
    parts.append(f'<text x="{_RIGHT + 44}" y="{y}">{escape(name)}</text>')
    return parts


def _x(index: int, xs: Sequence[int]) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * (index + 0.5) / len(xs), 1)


def _y(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)
