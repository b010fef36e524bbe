import sys, time, traceback
from .world import World
from .plan import plan_of
from .checker import violations
from collections import Counter
kinds=Counter(); ex={}
a=int(sys.argv[1]); n=int(sys.argv[2]); tr=len(sys.argv)>3
t=time.perf_counter(); occ=0; calls=0; bad=0
for seed in range(a,a+n):
    w=World(plan_of(seed),traced=tr)
    try: h=w.run()
    except Exception:
        print(seed,"CRASH"); traceback.print_exc(); continue
    v=violations(h)
    occ+=h.occurrences(); calls+=len(h.calls)
    if v:
        bad+=1
        for k in {x.partition(':')[0] for x in v}: kinds[k]+=1; ex.setdefault(k,(seed,[x for x in v if x.startswith(k)][0][:300]))
        if n<3: print(seed, len(v)); print('\n'.join(x[:400] for x in v[:12]))
e=time.perf_counter()-t
print("seeds",n,"bad",bad,"occ",occ,"calls",calls,"s",round(e,2),"occ/min",round(occ/e*60))

for k,c in kinds.most_common(): print(c,k,ex[k])
