"""A model of Carillon at a size that no laptop has: what AWS's limits let through, how late runs start, what it costs.

The decisions are those of `carillon.domain`; the limits are AWS's, in `facts`; how they act together is `simulation`.
`python -m bench.scale` prints the tables of docs/scale.md, `--write` puts them there.
"""
