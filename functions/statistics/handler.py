"""For each run that has ended: count it among those of its tenant and hour."""

from carillon import bootstrap

handler = bootstrap.statistics()
