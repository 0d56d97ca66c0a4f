"""The pictures of random matrices: every mark against its row, every line against its formula."""

import numpy as np
import pytest
from seen import band, bars, curve, drawn, key, level, same, styled, texts, within, without

from figures.figure import Settings
from figures.rmt import alignment as rmt_alignment
from figures.rmt import sample_size as rmt_sample_size
from figures.rmt import spectrum as rmt_spectrum
from figures.rmt import stable_rank as rmt_stable_rank
from figures.rmt import transition as rmt_transition
from rmt import SpikedModel


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def tables(told):
    sizes = {
        rmt_spectrum.SPECTRUM: (rmt_spectrum.SPECTRUM_SIZES, rmt_spectrum.SpectrumSizes(80, 3, 300, 4, 5)),
        rmt_stable_rank.STABLE_RANK: (
            rmt_stable_rank.STABLE_RANK_SIZES,
            rmt_stable_rank.StableRankSizes((10, 10**4, 10**9), 10),
        ),
        rmt_sample_size.SAMPLE_SIZE: (
            rmt_sample_size.SAMPLE_SIZE_SIZES,
            rmt_sample_size.SampleSizeSizes(10**4, (20, 40, 200, 2000), 4),
        ),
        rmt_alignment.ALIGNMENT: (
            rmt_alignment.ALIGNMENT_SIZES,
            rmt_alignment.AlignmentSizes(400, 6, 6, (0.5, 2.0), 2),
        ),
        rmt_transition.TRANSITION: (
            rmt_transition.TRANSITION_SIZES,
            rmt_transition.TransitionSizes((100, 10**4), 4, 3, 3),
        ),
    }
    with pytest.MonkeyPatch.context() as patch:
        for of_scale, tiny in sizes.values():
            patch.setitem(of_scale, "quick", tiny)
        return {figure.id: figure.data(Settings(progress=told.append)) for figure in sizes}


def with_bars(name, x, mean, low, high):
    return [curve(name, x, mean), bars(name, x, low, high)]


def errors(name, part, x="x"):
    return with_bars(
        name, part[x], part["mean"], part["mean"] - 2 * part.standard_error, part["mean"] + 2 * part.standard_error
    )


def test_the_transition(tables):
    table = tables["rmt/transition"]
    picture = styled(rmt_transition.draw_transition, table)
    location, overlap, near_location, near_overlap = picture.axes
    printed = "printed branch, small spikes"
    assert key(picture) == ["limit", printed, "$R=10^{2}$", "$R=10^{4}$"]
    found = without(drawn(location), "limit", lambda x: np.where(x > 1, x + 1 / x, 2.0))
    found = without(found, printed, lambda x: x + 1 / x)
    found_overlap = without(drawn(overlap), "limit", lambda x: np.where(x > 1, 1 - 1 / x**2, 0.0))
    close = without(drawn(near_location), "limit", lambda x: np.where(x > 0, x**2, 0.0))
    close = without(close, printed, lambda x: x**2)
    close_overlap = without(drawn(near_overlap), "limit", lambda x: np.where(x > 0, 2 * x, 0.0))
    for R in (100, 10**4):
        name, across = f"$R=10^{{{len(str(R)) - 1}}}$", table[(table.R == R) & (table.span == "across")]
        window, scale = table[(table.R == R) & (table.span == "window")], R ** (1 / 3)
        for marks, of, centre, power in ((found, "location", 2, 2), (found_overlap, "overlap", 0, 1)):
            mine = [mark for mark in marks if mark.name == name]
            same(mine, with_bars(name, across.spike, across[of], across[f"{of}_low"], across[f"{of}_high"]), aside=0.5)
            beside = [mark.points[:, 0] - across.spike.to_numpy() for mark in mine]
            assert np.abs(beside).max() < 0.04
            near = close if of == "location" else close_overlap
            value, error = (window[of] - centre) * scale**power, 2 * window[f"{of}_error"] * scale**power
            drawn_near = [mark for mark in near if len(mark.points) == len(window)]
            expected = bars("", (window.spike - 1) * scale, value - error, value + error)
            assert any(
                mark.kind == "bars" and np.allclose(mark.points, expected.points, atol=1e-6) for mark in drawn_near
            )
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) largest eigenvalue", r"spike $\theta$ (units of $\sigma s$)", r"$\lambda_1$"),
        ("(b) overlap with the spike", r"spike $\theta$ (units of $\sigma s$)", r"$\langle v_1,u_1\rangle^2$"),
        ("(c) the window of the transition", r"$(\theta-1)\,R^{1/3}$", r"$(\lambda_1-2)\,R^{2/3}$"),
        ("(d) the overlap there", r"$(\theta-1)\,R^{1/3}$", r"$\langle v_1,u_1\rangle^2\,R^{1/3}$"),
    ]


def test_long_work_says_how_far_it_is(tables, told):
    assert {f"R = {R}" for R in ("100", "1,000", "10,000")} <= set(told)
    assert {"two clients", "bulk", "theta = 0.5", "theta = 2"} <= set(told)
    assert {f"dense matrix {number} of 3" for number in (1, 2, 3)} <= set(told)


def test_the_transition_s_table_is_of_these_points(tables):
    table = tables["rmt/transition"]
    assert len(table) == 2 * (3 + 3)
    assert set(table[table.span == "across"].spike) == {0.1, 1.3, 2.5}
    assert (table.draws == 4).all()


def test_the_stable_rank(tables):
    table = tables["rmt/stable-rank"]
    picture = styled(rmt_stable_rank.draw_stable_rank, table)
    names = {"client": r"client, $\sigma s_M=1$", "server": r"server, $\sigma s_N=0.5$", "gap": "client $-$ server"}
    shift = {"client": 1.25**-0.5, "server": 1.25**0.5, "gap": 1.0}
    for column, own in enumerate((("client", "server"), ("gap",))):
        top, low = picture.axes[column], picture.axes[2 + column]
        marks, below = [], [level(0.0)]
        for name in own:
            part = table[table.quantity == name]
            marks += [
                curve("", part.R, part.predicted),
                *with_bars(names[name], part.R, part["mean"], part.low, part.high),
            ]
            unit = part.predicted / np.sqrt(part.R)
            off = (part["mean"] - part.predicted) / unit
            spread, error = (
                ((part.low - part.predicted) / unit, (part.high - part.predicted) / unit),
                (2 * part.standard_error / unit),
            )
            x = part.R * shift[name]
            below += [curve("", x, off), bars("", x, *spread), curve("", x, off), bars("", x, off - error, off + error)]
            band_of = [patch for patch in low.patches if patch.get_facecolor()[:3] == _rgb(top, names[name])]
            (height,) = {round(patch.get_height() / 2, 9) for patch in band_of}
            assert height == pytest.approx(1.2816 * float((part.predicted_sd / unit).iloc[-1]), rel=1e-6)
        same(drawn(top), marks)
        same(drawn(low), below)
        assert set(key(top)) == {*(names[name] for name in own), "prediction"}
        assert (top.get_xscale(), top.get_yscale(), low.get_yscale()) == ("log", "log", "linear")
        assert column == 1 or within(top)  # a gap's bar may reach below 0
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) stable rank", "", r"$\Vert H\Vert_F^2/\Vert H\Vert_2^2$"),
        ("(b) gap between the sample sizes", "", "difference of stable ranks"),
        ("", "dimension $R$", r"(draw/prediction$-1$)$\sqrt{R}$"),
        ("", "dimension $R$", ""),
    ]


def _rgb(axes, name):
    from matplotlib.colors import to_rgb

    handles, labels = axes.get_legend_handles_labels()
    return to_rgb(handles[labels.index(name)].lines[0].get_color())


def test_the_sample_size(tables):
    table = tables["rmt/sample-size"]
    picture = styled(rmt_sample_size.draw_sample_size, table)
    ranks, gaps = picture.axes

    def predicted(M, R):
        return SpikedModel((1.0, 0.5, 0.25, -0.6), scale=10 / M**0.5).stable_rank(R).value / R

    def bound(M, N=10_000):
        squares = [(noise / (1 + noise**2)) ** 2 for noise in (10 / M**0.5, 10 / N**0.5)]
        return 4 * (squares[0] - squares[1])

    left, right = drawn(ranks), drawn(gaps)
    marks, both = [], []
    for R in (100, 1000, 10**4):
        left = without(left, "", lambda x, R=R: [predicted(M, R) for M in x])
        part = table[(table.panel == "stable rank") & (table.R == R)]
        marks += with_bars(f"$R=10^{{{len(str(R)) - 1}}}$", part.M, part["mean"], part.low, part.high)
    same(left, marks)
    for N, name in ((10_000, "N = 10{,}000"), (50, "N = 50")):
        right = without(right, "", lambda x, N=N: [predicted(M, 10**4) - predicted(N, 10**4) for M in x])
        part = table[(table.panel == "gap") & (table.series == name.replace("{,}", ","))]
        both += with_bars(f"server ${name}$", part.M, part["mean"], part.low, part.high)
        assert part.printed.to_numpy() == pytest.approx(bound(part.M.to_numpy(), N))
    right = without(right, "lower bound, eq. (4)", bound)
    right = without(right, "", bound)  # dotted, where the assumption of the bound fails
    same(right, both)
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) stable rank over $R$", "sample size $M$", r"$\Vert H_M\Vert_F^2/(R\,\Vert H_M\Vert_2^2)$"),
        ("(b) gap to a server, over $R$", "sample size $M$", "difference of stable ranks$/R$"),
    ]
    assert ranks.get_yscale() == "log"


def test_the_alignment(tables):
    table = tables["rmt/alignment"]
    picture = styled(rmt_alignment.draw_alignment, table)
    cosines, overlaps, bulk = picture.axes
    dashed = "eqs. (54), (57) as printed"
    marks = [level(4.5)]
    for series, part in table[table.panel == "cosine"].groupby("series"):
        marks += [*errors(series, part), curve("", part.x, part.limit), curve("", part.x, part.printed)]
    same(drawn(cosines), marks)
    assert set(key(cosines)) == {*rmt_alignment.GRADIENTS, "limit", dashed}
    lines = {style: [] for style in (True, False)}
    for line in cosines.lines:
        if len(line.get_xdata()) == 6 and line.get_linestyle() != "None":
            lines[line._unscaled_dash_pattern[1] is not None].append(list(line.get_ydata()))
    of = table[table.panel == "cosine"].groupby("series", sort=False)
    assert lines == {True: [list(part.printed) for _, part in of], False: [list(part.limit) for _, part in of]}
    found = without(drawn(overlaps), "", lambda x: np.where(x > 1, 1 - 1 / np.maximum(x, 1) ** 2, 0.0))
    found = without(found, "", lambda x: np.where(x > 1, 1 - 1 / np.maximum(x, 1) ** 2, 0.0) ** 0.5)
    pairs = {"|<v, u>|": r"$|\langle v,u\rangle|\to\phi$", "<u, u'>": r"$\langle u,u'\rangle\to\phi^2$"}
    same(found, [mark for panel, name in pairs.items() for mark in errors(name, table[table.panel == panel])])
    part = table[table.panel == "bulk weight"]
    found = without(drawn(bulk), "limit", lambda x: 1 / (1 + 4 - 2 * x))
    same(found, [level(0.25), *errors("", part)])
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) alignment by rank", "rank $r$", r"$E[C_{N,r}]$"),
        ("(b) one spike", r"$\theta/(\sigma s)$", ""),
        (
            r"(c) weight on the bulk, $\theta=2\,\sigma s$",
            r"eigenvalue $\lambda/(\sigma s)$",
            r"$R\,|\langle w,v\rangle|^2$",
        ),
    ]
    assert (part.limit - 1 / (5 - 2 * part.x)).abs().max() < 1e-12
    assert set(table[table.panel == "cosine"].x) == {1, 2, 3, 4, 5, 6}


def test_the_spectrum(tables):
    table = tables["rmt/spectrum"]
    picture = styled(rmt_spectrum.draw_spectrum, table)
    top, middle, lower = picture.axes
    values = table[table.kind == "eigenvalue"].value.to_numpy()
    assert set(key(picture)) == {
        "semicircle",
        "eigenvalue outside the bulk",
        "spike without outlier",
        "one matrix",
        r"predicted place $\pm 2$ sd",
    }
    found = without(drawn(top), "semicircle", lambda x: np.sqrt(np.maximum(4 - x**2, 0)) / (2 * np.pi))
    places = {theta: theta + 1 / theta for theta in (3.0, 1.5, -2.0)}
    nearest = {theta: values[np.argmin(np.abs(values - place))] for theta, place in places.items()}
    ticks = [curve("eigenvalue outside the bulk", [value] * 2, [0, 0.055]) for value in nearest.values()]
    same(found, [*ticks, *(curve("spike without outlier", theta, 0.03) for theta in (0.6, -0.6))])
    assert sorted((round(text.xy[0], 9), text.get_text()) for text in top.texts) == sorted(
        (round(place, 9), rf"$\theta={theta:g}$") for theta, place in places.items()
    )
    heights = [patch.get_height() for patch in top.patches if patch.get_width() == pytest.approx(0.1)]
    assert heights == pytest.approx(list(np.histogram(values, np.arange(-3.0, 4.0, 0.1), density=False)[0] / 80 / 0.1))
    marks = []
    for kind, name in (("count without spikes", "no spike, $R=300$"), ("count", "five spikes, $R=80$")):
        by = table[table.kind == kind].groupby("at")
        mean, error = by.value.mean(), 2 * by.value.std() / by.size() ** 0.5
        marks += [
            curve(f"{name}, mean $\\pm 2$ s.e.", mean.index, mean),
            band(mean.index, mean - error, mean + error),
            curve("theory of the mean", mean.index, by.predicted.first()),
        ]
    same(drawn(middle), marks)
    assert key(middle)[-1] == "theory of the mean"
    part, places, errors_of = table[table.kind == "outlier"], [], []
    for place, theta in enumerate((-2.0, 1.5, 3.0)):
        model = rmt_spectrum.SPECTRUM_MODEL
        z = (part[part["at"] == theta].value - theta - 1 / theta) / model.outlier_sd(theta, 80)
        places.append((place, z.mean(), z.std(ddof=1)))
        dots = next(line for line in lower.lines if np.allclose(np.sort(line.get_xdata()), np.sort(z)))
        assert np.abs(np.asarray(dots.get_ydata()) - place).max() < 0.3
        (bar,) = [
            c
            for c in lower.containers
            if float(c.lines[0].get_ydata()[0]) == place and c.lines[0].get_xdata()[0] == pytest.approx(z.mean())
        ]
        (segment,) = bar.lines[2][0].get_segments()
        errors_of.append(segment[:, 0] - z.mean())
        assert errors_of[-1] == pytest.approx([-2 * z.std() / 5**0.5, 2 * z.std() / 5**0.5])
    assert [text.get_text() for text in lower.texts] == [f"sd {sd:.2f}" for _, _, sd in places]
    assert [label.get_text() for label in lower.get_yticklabels()] == [rf"$\theta={t:g}$" for t in (-2.0, 1.5, 3.0)]
    assert [texts(axes) for axes in picture.axes] == [
        ("(a) spectrum, $R=80$", "", "density"),
        ("(b) eigenvalues below $x$, minus the law", r"$x$ (in units of $\sigma s$)", r"$R\,(F_R-F)$"),
        (
            r"(c) outliers of 5 draws, $R=80$; mean $\pm 2$ s.e. in orange",
            "(outlier $-$ predicted place) / predicted sd",
            "",
        ),
    ]
