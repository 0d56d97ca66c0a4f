"""Pictures of theory and spectra, drawn from parts of the stored numbers: marks, looks, limits, words and legends."""

from drawings import picture, stored

from figures.curves.learning_curves import draw_learning
from figures.curves.method_comparison import draw as draw_methods
from figures.fedlrt.communication import draw_communication
from figures.fedlrt.fig3 import draw_fig3
from figures.fedlrt.vision import draw_vision
from figures.hessian.alignment import draw_client_alignment
from figures.hessian.covariance import draw_covariance_figure
from figures.hessian.edge_of_stability import draw_edge
from figures.hessian.predictions import draw_predictions
from figures.hessian.spectra import draw_samples
from figures.language.sizes import draw as draw_sizes
from figures.rmt.alignment import draw_alignment
from figures.rmt.sample_size import draw_sample_size
from figures.rmt.stable_rank import draw_stable_rank
from figures.rmt.transition import draw_transition

FEW = "FedAvg|FedLoRA|Fed-SB|FedLoRU|pFedLoRU (p)"


def learning_curves_of_families_in_rows():
    table = stored(
        "training-learning-curves",
        stage="curve",
        method="FedAvg|FedLin|local training (p)|FedLoRA|RoLoRA|FFA-LoRA",
        round="0|20",
    )
    return picture(draw_learning, table)


def learning_curves_of_few_methods_share_a_row():
    table = stored(
        "training-learning-curves", stage="curve", method="FedAvg|pFedLoRU (p)", round="0|4|20", data="mnist"
    )
    return picture(draw_learning, table)


def methods_by_bytes_errors_and_times():
    return picture(draw_methods, stored("training-methods", method=FEW))


def communication_by_rank():
    return picture(draw_communication, stored("fedlrt-communication", rank="1|2|8|32|64|100|200|255"))


def costs_by_rank():
    return picture(draw_fig3, stored("fedlrt-fig-3", rank="1|8|64|128|192|256|384|512"))


def accuracy_and_savings_by_clients():
    return picture(draw_vision, stored("fedlrt-fig-7", clients="1|4|16|32", round="0|5"))


def accuracy_and_savings_with_a_failed_run():
    table = stored("fedlrt-fig-7", clients="1|4", round="5", stage="run")
    failed = (table.seed == 1) & (table.clients == 4) & (table.method == "FedAvg")
    return picture(draw_vision, table.assign(failed=failed.astype(int), value=table.value.mask(failed)))


def clients_of_a_network():
    table = stored("hessian-alignment", M="100", epoch="1|20", index="1|2|3|10|11|29|30|31|50")
    return picture(draw_client_alignment, table)


def covariance_and_its_predictions():
    table = stored("hessian-covariance", network="CNN", M="20|80|250", epochs="0|10", seed="0|1")
    return picture(draw_covariance_figure, table)


def sharpness_and_edge():
    return picture(draw_edge, stored("hessian-edge-of-stability", step="0|25|500|1000|3000|6000"))


def predictions_by_samples():
    table = stored("hessian-predictions", network="perceptron")
    return picture(draw_predictions, table[table.quantity != "outlier 3"])


def spectra_by_samples():
    return picture(
        draw_samples,
        stored(
            "hessian-fmnist-exact", subset="0|1", index="0|1|2|5|20|202|1797|3393|3575|3593|3594", M="100|1000|60000"
        ),
    )


def sizes_of_language_models():
    table = stored("rolora-language-sizes", rank="4|8")
    return picture(draw_sizes, table), picture(draw_sizes, stored("fedloru-language-sizes"))


def alignment_of_two_clients():
    return picture(draw_alignment, stored("rmt-alignment"))


def stable_rank_by_samples():
    return picture(draw_sample_size, stored("rmt-sample-size", M="10|20|42|50|80|100|133|1000|10000|100000"))


def stable_rank_by_dimension():
    return picture(draw_stable_rank, stored("rmt-stable-rank", R="10|1000|1000000"))


def spike_across_the_threshold():
    return picture(draw_transition, stored("rmt-transition", R="100|1000000000"))
