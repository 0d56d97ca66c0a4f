"""Export of a run's adapter for PEFT."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from runs.folder import CHECKPOINTS, checkpoints_of, require_state
from runs.networks.language_model import all_drawn_in, base_of, require_no_model
from runs.networks.language_network import LanguageNetwork, LanguageProblem
from runs.networks.peft_format import updates, write_adapter
from runs.plan import earlier_digest, given_of, parts_of, read_run, require_same_given
from runs.settings import RunError
from runs.silos.problem import SILOS


def export(folder: Path, out: Path, root: str | None = None, trust: bool = False, number: int | None = None) -> int:
    """Write the adapter of a checkpoint of a language model's run.

    Args:
        folder: Folder of the run.
        out: Folder of the adapter.
        root: Where the data sets lie.
        trust: Whether code and pickled weights that the run names may be read.
        number: Round of the checkpoint; default: the last one.

    Returns:
        The round of the checkpoint.

    Raises:
        RunError: The run does not exist, its algorithm has no adapter, its model has changed, or a model lies where the
            adapter would. DataError: Its texts are missing.
    """
    require_no_model(out)
    run = read_run(folder, trust)
    if run.plan.problem == SILOS:
        raise RunError(
            f"{folder} is a run of silos, whose network is not on this machine, and PEFT adapters exist only for "
            f"language models; to "
            "keep its weights, let evaluate(w) of the app save them, for example by torch.save(dict(w), FILE), "
            "and train "
            "one more round"
        )
    plan = replace(run.plan, conduct=replace(run.plan.conduct, root=root))
    parts = parts_of(plan)
    problem = parts.problem
    if not isinstance(problem, LanguageProblem):
        raise RunError(f"{folder} is a run of {run.plan.problem}; PEFT adapters exist for language models only")
    require_same_given(folder, run, given_of(problem))
    state = checkpoints_of(plan, parts, folder, earlier_digest(folder)).load(number)[0].state
    require_state(parts, state.algorithm, folder / CHECKPOINTS)
    found = updates(parts.algorithm, state.algorithm, problem.start)
    weights = parts.algorithm.weights(state.algorithm)
    network: LanguageNetwork = problem.clients.network  # type: ignore[assignment]
    # What was drawn from the run's seed and not trained: another reader of the model would draw other numbers.
    others = {**all_drawn_in(network.testing.module), **{of: weights[of] for of in problem.start if of not in found}}
    base = base_of(run.plan.settings["model"])
    write_adapter(out, network.testing.module, found, others, network.task, base, problem.classes)
    return state.round
