"""Pictures of training runs, drawn from parts of the stored numbers: marks, looks, limits, words and legends."""

from drawings import picture, stored

from figures.fedloru import curves, experiments
from figures.fedloru.alignment import draw_alignment
from figures.fedloru.fig1 import draw_fig1
from figures.fedloru.fig4 import draw_fig4
from figures.fedloru.language_ranks import draw_language_ranks
from figures.fedloru.paper_scale import draw as draw_paper_scale
from figures.fedloru.trained_ranks import draw_ranks
from figures.rolora import language
from figures.rolora.ffa import draw_ffa
from figures.rolora.fig2 import draw_fig2
from figures.rolora.mechanism import draw_mechanism
from figures.rolora.tables import draw_by_method, draw_glue

ENDS = "0|1|12|13|14|15|16"


def alignment_of_updates():
    return picture(draw_alignment, stored("fedloru-fig-8", round="1|2|20|21|40", stage="run"))


def gains_over_fedavg():
    return picture(curves.draw_gains, stored("fedloru-tab-6", round=ENDS, seed="0|1|2"))


def bytes_to_a_target():
    return picture(curves.draw_costs, stored("fedloru-tab-1", split="IID", size="full|large", seed="0|1|2"))


def accuracy_by_round():
    table = stored("fedloru-tab-1", split="IID", size="full|large", seed="0|1", round="0|8|16", clients="20")
    return picture(curves.draw_curves, table)


def table_of_four_methods():
    table = stored("fedloru-tab-1", stage="run", clients="20", seed="0|1", round="13|16", size="full|large|small")
    return picture(experiments.drawing("1"), table)


def table_of_personal_models():
    return picture(experiments.drawing("3"), stored("fedloru-tab-3", round="8|16"))


def table_of_ranks_with_printed_rows():
    return picture(experiments.drawing("4"), stored("fedloru-tab-4", round="16"))


def table_of_clients():
    return picture(experiments.drawing("6"), stored("fedloru-tab-6", round="16", clients="20|200"))


def table_of_a_tenth_of_the_clients():
    return picture(experiments.drawing("7"), stored("fedloru-tab-7", round="16"))


def restarts():
    return picture(experiments.drawing("restarts"), stored("fedloru-restarts", round="16"))


def stable_ranks_in_training():
    return picture(draw_fig1, stored("fedloru-fig-1", epoch="5|15|30", run="0|1"))


def losses_in_fine_tuning():
    return picture(draw_fig4, stored("fedloru-fig-4"))


def ranks_of_layers():
    return picture(draw_language_ranks, stored("fedloru-language-ranks"))


def first_rounds_at_the_papers_scale():
    return picture(draw_paper_scale, stored("fedloru-paper-scale"))


def ranks_of_server_and_clients():
    return picture(draw_ranks, stored("fedloru-trained-ranks", seed="0|1"))


def two_layer_network():
    return picture(draw_fig2, stored("rolora-fig-2", round="0|1|2|4|10", seed="0|1|2"))


def plateau():
    return picture(draw_ffa, stored("rolora-ffa-plateau", m="0|8|10|50|100"))


def mechanism():
    return picture(draw_mechanism, stored("rolora-mechanism"))


def tables_by_setting_and_method():
    return picture(draw_glue, stored("rolora-table-1")), picture(draw_by_method, stored("rolora-table-12"))


def table_of_trials():
    return picture(draw_by_method, stored("rolora-table-2"))


def table_of_numbers_of_clients():
    return picture(language.drawing(language.falls), stored("rolora-clients-texts", round="8|24|136"))


def curves_of_numbers_of_clients():
    return picture(language.draw_curves, stored("rolora-fig-3", round="0|2|4|12|24|68", clients="3|20"))


def table_of_budgets():
    return picture(language.drawing(language.robustness), stored("rolora-fig-4", round="48", rank="4|1"))


def table_of_uplinks():
    return picture(language.drawing(language.no_statements), stored("rolora-fig-5", round="48"))
