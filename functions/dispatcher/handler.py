"""Each second, for each shard group: claim, send and confirm what is due."""

from carillon import bootstrap

handler = bootstrap.dispatcher()
