"""List prices, us-east-1, US dollars, on demand, no free tier: those of docs/costs.md, and what only size needs."""

from typing import Final

MILLION: Final = 1_000_000
MONTH_HOURS: Final = 730
MONTH_SECONDS: Final = MONTH_HOURS * 3600

WRITE_UNIT: Final = 0.625 / MILLION
READ_UNIT: Final = 0.125 / MILLION
STORED_GB_MONTH: Final = 0.25
BACKED_UP_GB_MONTH: Final = 0.20
PROVISIONED_WRITE_HOUR: Final = 0.00065
"""Of a write unit a second, in the provisioned mode. DynamoDB pricing page."""

QUEUE_REQUEST: Final = 0.40 / MILLION
FAIR_QUEUE_REQUEST: Final = 0.50 / MILLION

FUNCTION_REQUEST: Final = 0.20 / MILLION
GB_SECOND: Final = 0.0000133334
POLLER_HOUR: Final = 0.00925
"""Of a provisioned poller of a queue. Lambda price list, September 2026."""

SCHEDULER_CALL: Final = 1.00 / MILLION
KEY_MONTH: Final = 1.00
ALARM_MONTH: Final = 0.10
LOG_GB: Final = 0.50
DATA_OUT_GB: Final = 0.09
