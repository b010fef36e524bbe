"""Each minute: extend the range of seconds that have their ticks."""

from carillon import bootstrap

handler = bootstrap.ticker()
