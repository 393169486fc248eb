"""What a device computes right, and how fast: `tenferro doctor --gpu`.

Read in this order: `report` (records, files, the table), `watchdog` (a process for each step, with
a time limit), `checking` (what a step is passed), the steps by topic: `correctness`, `parity`,
`examples`, `matrices`, `speed`, `resources`; then `__main__`, which has the table of steps.
"""
