"""All planted bugs, and a seed that is known to catch each, quickly."""

from . import planted_completions, planted_dispatch, planted_edits, planted_execution
from .planting import PLANTED

__all__ = ["KNOWN", "PLANTED"]

_BUGS = (planted_dispatch, planted_execution, planted_edits, planted_completions)

KNOWN: dict[str, int] = {
    "an_acceptance_is_a_success": 7,
    "deadlines_put_off_come_all_the_same": 12,
    "signs_of_life_put_nothing_off": 17,
    "the_whole_time_begins_with_the_due_time": 12,
    "tokens_of_older_attempts_count": 12,
    "reports_need_no_condition": 53,
    "claim_ignores_the_version": 74,
    "claim_ignores_the_epoch": 112,
    "claim_of_another_is_confirmed": 35,
    "advance_before_send": 0,
    "confirm_ignores_what_was_not_sent": 12,
    "refused_messages_are_decided_anew": 148,
    "takeover_decides_afresh": 0,
    "claims_never_run_out": 407,
    "only_the_first_page_is_read": 246,
    "waiting_runs_leave_the_index_anyhow": 74,
    "taken_slots_are_forgotten": 29,
    "waiting_runs_need_no_slot": 29,
    "an_edit_leaves_the_version": 1,
    "no_segment_is_left": 132,
    "nothing_is_settled": 131,
    "cancelled_jobs_are_called": 72,
    "paused_jobs_are_called": 83,
    "the_planned_are_not_counted": 94,
    "twins_are_forgotten": 313,
    "claims_in_flight_are_summed_up": 205,
    "starts_need_no_condition": 73,
    "finishes_need_no_condition": 1,
    "the_generation_is_forgotten": 62,
    "the_wait_number_is_ignored": 25,
    "messages_of_running_retries_are_dropped": 42,
    "lost_attempts_are_not_counted": 115,
    "lost_attempts_have_no_limit": 3,
    "the_only_attempt_is_tried_again": 1,
    "run_leases_never_run_out": 73,
    "run_leases_are_not_looked_at": 31,
    "beats_do_not_renew": 7,
    "nothing_is_held_until_due": 73,
    "cancels_of_called_runs_are_forgotten": 18,
    "redrives_number_from_the_start": 7,
    "redrives_count_the_attempts_before": 20,
}
"""A change of the plans that seeds stand for changes these: `--planted NAME` finds them anew."""
