"""Line charts as SVG, one style for all: a logarithmic y axis, a line with markers for each method."""
import math

COLOURS = ["#1b6ca8", "#d1495b", "#3d8361", "#8d6a9f", "#c98b1b", "#5b5b5b", "#18a0a0", "#a0522d", "#e377c2"]
MARKERS = ["circle", "square", "diamond"]


def chart(title, x_name, y_name, lines, x_log=False):
    """`lines` are (name, [(x, y), ...]); values of 0 are drawn at the bottom."""
    left, top, width, height = 78, 44, 420, 300
    points = [point for _, line in lines for point in line]
    positive = [y for _, y in points if y > 0]
    low = math.floor(math.log10(min(positive))) if positive else -1
    high = max(math.ceil(math.log10(max(positive))), low + 1) if positive else 0
    xs = [x for x, _ in points if x > 0 or not x_log]
    scale = (lambda x: math.log10(x)) if x_log else (lambda x: x)
    x_low, x_high = scale(min(xs)), scale(max(xs))
    x_high = x_high if x_high > x_low else x_low + 1

    def place(x, y):
        across = (scale(x) - x_low) / (x_high - x_low)
        up = (math.log10(y) - low) / (high - low) if y > 0 else 0.0
        return left + width * across, top + height * (1 - min(max(up, 0.0), 1.0))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 230}" height="{top + height + 56}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>', f'<text x="{left}" y="24" font-size="14">{escape(title)}</text>',
             f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#888"/>']
    for power in range(low, high + 1):
        y = top + height * (1 - (power - low) / (high - low))
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for tick in ticks(min(xs), max(xs), x_log):
        x, _ = place(tick, 10.0 ** low)
        parts.append(f'<line x1="{x:.1f}" y1="{top + height}" x2="{x:.1f}" y2="{top + height + 4}" stroke="#888"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">{escape(x_name)}</text>')
    parts.append(f'<text transform="translate(16 {top + height / 2}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>')
    for number, (name, line) in enumerate(lines):
        colour, at = COLOURS[number % len(COLOURS)], top + 14 + 20 * number
        spots = [place(x, y) for x, y in line if x > 0 or not x_log]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.8" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>')
        parts += [marker(number, x, y, colour) for x, y in spots]
        parts.append(f'<line x1="{left + width + 12}" y1="{at - 4}" x2="{left + width + 36}" y2="{at - 4}" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(marker(number, left + width + 24, at - 4, colour))
        parts.append(f'<text x="{left + width + 42}" y="{at}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def marker(number, x, y, colour):
    shape = MARKERS[number // len(COLOURS) % len(MARKERS)] if number >= len(COLOURS) else MARKERS[number % len(MARKERS)]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 2.7:.1f}" y="{y - 2.7:.1f}" width="5.4" height="5.4" fill="{colour}"{turn}/>'


def ticks(low, high, logarithmic):
    if logarithmic:
        return [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) if low <= 10.0 ** power <= high]
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9) / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 8)
    first = math.ceil(low / step)
    return [step * k for k in range(first, int(high / step + 1e-9) + 1)]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
