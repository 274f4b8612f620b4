"""Attacks on driftword from outside: through the command line and the public Python interface.

    make torture                                  everything, at full scale
    make torture MINUTES=10                       everything, within ten minutes
    cd benchmarks && python -m torture --only kills --scale 0.1 --seed 3
    cd benchmarks && python -m torture --only kills --seed 3 --case 17     one case again

No attack may end in a wrong result without a word, in a traceback, in a hang, or in something lost or left behind.
`docs/reliability.md` says what each part shows.
"""
