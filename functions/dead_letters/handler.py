"""For each message that no worker could finish: end its run visibly."""

from carillon import bootstrap

handler = bootstrap.dead_letters()
