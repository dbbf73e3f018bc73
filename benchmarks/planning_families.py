"""Classical planning problems, grounded: twelve families and more, and problems like those of agents.

Standard library only, and deterministic: the same family and size always give the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, permutations, product
from random import Random

from benchmarks.planning_problems import Problem, Step

Build = Callable[[int], Problem]


def classical(family: str, size: int, steps: Iterable[Step], start: Iterable[str], goal: Iterable[str]) -> Problem:
    return Problem(f"{family} {{}}", size, tuple(steps), (tuple(goal),), tuple(start))


def gripper(balls: int) -> Problem:
    """Two rooms, two hands: every ball is interchangeable with every other."""
    names = [f"b{n}" for n in range(balls)]
    steps = [Step(f"move-{a}{b}", (f"at-{a}",), (f"at-{b}",), 1, (f"at-{a}",)) for a, b in permutations("ab")]
    for ball, hand, room in product(names, "lr", "ab"):
        needs = (f"{ball}-{room}", f"at-{room}", f"free-{hand}")
        steps.append(Step(f"pick-{ball}{hand}{room}", needs, (f"{ball}-{hand}",), 1, (needs[0], needs[2])))
        held = (f"{ball}-{hand}", f"at-{room}")
        steps.append(Step(f"drop-{ball}{hand}{room}", held, (f"{ball}-{room}", f"free-{hand}"), 1, (f"{ball}-{hand}",)))
    start = ("at-a", "free-l", "free-r", *(f"{ball}-a" for ball in names))
    return classical("gripper", balls, steps, start, (f"{ball}-b" for ball in names))


def blocks(count: int) -> Problem:
    """Towers to be rebuilt, with one hand."""
    draw, names = Random(count), [f"b{n}" for n in range(count)]
    steps = []
    for a in names:
        steps.append(Step(f"take-{a}", (f"clear-{a}", f"table-{a}", "free"), (f"hold-{a}",), 1, (f"table-{a}", "free")))
        steps.append(Step(f"put-{a}", (f"hold-{a}",), (f"table-{a}", "free"), 1, (f"hold-{a}",)))
        for b in names:
            if a != b:
                on, need = f"on-{a}-{b}", (f"hold-{a}", f"clear-{b}")
                steps.append(Step(f"stack-{a}-{b}", need, (on, "free"), 1, need))
                steps.append(
                    Step(f"lift-{a}-{b}", (on, f"clear-{a}", "free"), (f"hold-{a}", f"clear-{b}"), 1, (on, "free"))
                )
    start, goal = (towers(draw.sample(names, count), draw) for _ in range(2))
    return classical("blocks", count, steps, (*start, "free"), (fact for fact in goal if fact.startswith("on-")))


def towers(order: list[str], draw: Random) -> list[str]:
    facts, below = list[str](), ""
    for block in order:
        facts.append(f"on-{block}-{below}" if below else f"table-{block}")
        if draw.random() < 0.25:
            facts.append(f"clear-{block}")
            below = ""
        else:
            below = block
    return [*facts, f"clear-{below}"] if below else facts


def logistics(packages: int) -> Problem:
    """Packages in three cities, each with a lorry, and one aeroplane between them."""
    draw, cities = Random(packages), range(3)
    places = [f"{kind}{city}" for city in cities for kind in ("office", "airport")]
    steps = []
    for city in cities:
        for a, b in permutations((f"office{city}", f"airport{city}")):
            steps.append(drive(f"lorry{city}", a, b, 1))
    for here, there in permutations(cities, 2):
        steps.append(drive("plane", f"airport{here}", f"airport{there}", 3))
    stops = [(f"lorry{city}", f"{kind}{city}") for city in cities for kind in ("office", "airport")]
    stops += [("plane", f"airport{city}") for city in cities]
    names = [f"p{n}" for n in range(packages)]
    for name, (vehicle, place) in product(names, stops):
        steps += load(name, vehicle, place)
    at = [draw.choice(places) for _ in names]
    to = [draw.choice(places) for _ in names]
    start = [f"lorry{city}@office{city}" for city in cities] + ["plane@airport0"]
    start += [f"{name}@{place}" for name, place in zip(names, at, strict=True)]
    return classical(
        "logistics", packages, steps, start, [f"{name}@{place}" for name, place in zip(names, to, strict=True)]
    )


def drive(vehicle: str, a: str, b: str, cost: int) -> Step:
    return Step(f"go-{vehicle}-{a}-{b}", (f"{vehicle}@{a}",), (f"{vehicle}@{b}",), cost, (f"{vehicle}@{a}",))


def load(package: str, vehicle: str, place: str, cost: int = 1) -> list[Step]:
    inside, outside, there = f"{package}-in-{vehicle}", f"{package}@{place}", f"{vehicle}@{place}"
    return [
        Step(f"load-{package}-{vehicle}-{place}", (outside, there), (inside,), cost, (outside,)),
        Step(f"unload-{package}-{vehicle}-{place}", (inside, there), (outside,), cost, (inside,)),
    ]


def transport(packages: int) -> Problem:
    """Two lorries with room for two on roads of different length."""
    draw, places = Random(packages), [f"c{n}" for n in range(packages + 3)]
    roads = {pair: draw.randint(1, 9) for pair in pairwise(places)}
    others = {tuple(sorted(draw.sample(places, 2))) for _ in range(packages)} - {*roads}
    roads |= {(a, b): draw.randint(4, 20) for a, b in sorted(others)}
    steps = [drive(v, *way, cost) for v in ("v0", "v1") for (a, b), cost in roads.items() for way in ((a, b), (b, a))]
    names, rooms = [f"p{n}" for n in range(packages)], ("full", "one", "two")
    for name, vehicle, place, (less, more) in product(names, ("v0", "v1"), places, pairwise(rooms)):
        inside, outside, there = f"{name}-in-{vehicle}", f"{name}@{place}", f"{vehicle}@{place}"
        less_room, more_room = f"{vehicle}-{less}", f"{vehicle}-{more}"
        tail = f"{name}-{vehicle}-{place}-{less}"
        needs = (outside, there, more_room)
        steps.append(Step(f"load-{tail}", needs, (inside, less_room), 1, (outside, more_room)))
        held = (inside, there, less_room)
        steps.append(Step(f"unload-{tail}", held, (outside, more_room), 1, (inside, less_room)))
    start = ["v0@c0", f"v1@{places[-1]}", "v0-two", "v1-two", *(f"{name}@{draw.choice(places)}" for name in names)]
    return classical("transport", packages, steps, start, [f"{name}@{draw.choice(places)}" for name in names])


def miconic(passengers: int) -> Problem:
    """A lift that takes passengers from floor to floor."""
    draw, floors = Random(passengers), range(passengers + 2)
    steps = [drive("lift", f"f{a}", f"f{b}", 1) for a, b in permutations(floors, 2)]
    start = ["lift@f0"]
    for n in range(passengers):
        origin, target = draw.sample(floors, 2)
        steps.append(Step(f"board{n}", (f"lift@f{origin}", f"waits{n}"), (f"in{n}",), 1, (f"waits{n}",)))
        steps.append(Step(f"leave{n}", (f"lift@f{target}", f"in{n}"), (f"served{n}",), 1, (f"in{n}",)))
        start.append(f"waits{n}")
    return classical("miconic", passengers, steps, start, (f"served{n}" for n in range(passengers)))


def hanoi(discs: int) -> Problem:
    """The tower of Hanoi."""
    pegs, steps = "abc", []
    # the facts: a disc is on a disc or a peg, and each of these may be clear
    things = [*(f"peg-{peg}" for peg in pegs), *(f"d{n}" for n in range(discs, 0, -1))]
    for n in range(1, discs + 1):
        larger = [thing for thing in things if thing.startswith("peg") or int(thing[1:]) > n]
        for a, b in permutations(larger, 2):
            needs = (f"clear-d{n}", f"d{n}-on-{a}", f"clear-{b}")
            steps.append(Step(f"move-d{n}-{a}-{b}", needs, (f"d{n}-on-{b}", f"clear-{a}"), 1, needs[1:]))
    stack = [f"d{n}" for n in range(discs, 0, -1)]
    start = [f"{top}-on-{below}" for below, top in pairwise(["peg-a", *stack])]
    start += ["clear-d1", "clear-peg-b", "clear-peg-c"]
    return classical("hanoi", discs, steps, start, [f"{top}-on-{below}" for below, top in pairwise(["peg-c", *stack])])


def tiles(moves: int) -> Problem:
    """The sliding puzzle of eight tiles, shuffled by so many random moves."""
    draw = Random(moves)
    cells = [(row, column) for row in range(3) for column in range(3)]
    near = [(a, b) for a, b in permutations(cells, 2) if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    steps = []
    for tile, (a, b) in product(range(1, 9), near):
        needs = (f"t{tile}@{a[0]}{a[1]}", f"empty@{b[0]}{b[1]}")
        adds = (f"t{tile}@{b[0]}{b[1]}", f"empty@{a[0]}{a[1]}")
        steps.append(Step(f"slide-t{tile}-{a[0]}{a[1]}-{b[0]}{b[1]}", needs, adds, 1, needs))
    board = dict(zip(cells, range(9), strict=True))
    goal = [f"t{tile}@{a}{b}" for (a, b), tile in board.items() if tile]
    hole = (0, 0)
    for _ in range(moves):
        target = draw.choice([b for a, b in near if a == hole])
        board[hole], board[target] = board[target], 0
        hole = target
    start = [f"t{tile}@{a}{b}" if tile else f"empty@{a}{b}" for (a, b), tile in board.items()]
    return classical("eight tiles", moves, steps, start, goal)


def sokoban(side: int) -> Problem:
    """Boxes to be pushed on a grid; to walk costs nothing."""
    draw, cells = Random(side), list(product(range(side), repeat=2))
    walls = {cell for cell in cells if 0 < cell[0] < side - 1 and 0 < cell[1] < side - 1 and draw.random() < 0.1}
    free = [cell for cell in cells if cell not in walls]
    inner = [cell for cell in free if 0 < cell[0] < side - 1 and 0 < cell[1] < side - 1]
    boxes = draw.sample(inner, 3)
    targets = draw.sample(inner, 3)
    name = {cell: f"{cell[0]}x{cell[1]}" for cell in free}
    steps = []
    for row, column in free:
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b, c = ((row + n * down, column + n * right) for n in range(3))
            if b in name:
                steps.append(
                    Step(
                        f"walk-{name[a]}-{name[b]}",
                        (f"me@{name[a]}", f"clear-{name[b]}"),
                        (f"me@{name[b]}",),
                        0,
                        (f"me@{name[a]}",),
                    )
                )
            if b in name and c in name:
                for box in range(3):
                    needs = (f"me@{name[a]}", f"box{box}@{name[b]}", f"clear-{name[c]}")
                    adds = (f"me@{name[b]}", f"box{box}@{name[c]}", f"clear-{name[b]}")
                    steps.append(Step(f"push-{box}-{name[a]}-{name[b]}", needs, adds, 1, needs))
    me = next(cell for cell in free if cell not in boxes)
    start = [f"me@{name[me]}", *(f"clear-{name[cell]}" for cell in free if cell not in boxes)]
    start += [f"box{n}@{name[cell]}" for n, cell in enumerate(boxes)]
    goal = [f"box{n}@{name[cell]}" for n, cell in enumerate(targets)]
    return classical("sokoban", side, steps, start, goal)


def visit_all(side: int) -> Problem:
    """Every cell of a grid is to be visited."""
    cells = list(product(range(side), repeat=2))
    steps = []
    for (a, b), (down, right) in product(cells, ((0, 1), (1, 0), (0, -1), (-1, 0))):
        c, d = a + down, b + right
        if (c, d) in cells:
            steps.append(
                Step(f"go-{a}x{b}-{c}x{d}", (f"at-{a}x{b}",), (f"at-{c}x{d}", f"seen-{c}x{d}"), 1, (f"at-{a}x{b}",))
            )
    middle = side // 2
    start = (f"at-{middle}x{middle}", f"seen-{middle}x{middle}")
    return classical("visit all", side, steps, start, (f"seen-{a}x{b}" for a, b in cells))


def ferry(cars: int) -> Problem:
    """A ferry for one car."""
    draw, ports = Random(cars), [f"h{n}" for n in range(4)]
    steps = [drive("ferry", a, b, 1) for a, b in permutations(ports, 2)]
    start, goal = ["ferry@h0", "empty"], []
    for n in range(cars):
        for port in ports:
            needs = (f"car{n}@{port}", f"ferry@{port}", "empty")
            steps.append(Step(f"board{n}-{port}", needs, (f"on{n}",), 1, (needs[0], "empty")))
            aboard = (f"on{n}", f"ferry@{port}")
            steps.append(Step(f"leave{n}-{port}", aboard, (f"car{n}@{port}", "empty"), 1, (f"on{n}",)))
        origin, target = draw.sample(ports, 2)
        start.append(f"car{n}@{origin}")
        goal.append(f"car{n}@{target}")
    return classical("ferry", cars, steps, start, goal)


def satellite(images: int) -> Problem:
    """Two satellites with two instruments each that have to be calibrated before they take images."""
    draw, views = Random(images), range(images + 2)
    steps, start, goal = list[Step](), list[str](), list[str]()
    for s in range(2):
        start += [f"s{s}@v{draw.choice(views)}", f"power{s}"]
        steps += [drive(f"s{s}", f"v{a}", f"v{b}", 1 + abs(a - b) % 3) for a, b in permutations(views, 2)]
        for i in range(2):
            name, spot = f"s{s}i{i}", draw.choice(views)
            steps.append(Step(f"on-{name}", (f"power{s}",), (f"runs-{name}",), 1, (f"power{s}", f"ready-{name}")))
            steps.append(Step(f"off-{name}", (f"runs-{name}",), (f"power{s}",), 1, (f"runs-{name}",)))
            steps.append(Step(f"calibrate-{name}", (f"runs-{name}", f"s{s}@v{spot}"), (f"ready-{name}",), 1))
            for view in range(images):
                for mode in {view % 3, (i + s) % 3} if i == view % 2 else {(i + view) % 3}:
                    needs = (f"ready-{name}", f"runs-{name}", f"s{s}@v{view}")
                    steps.append(Step(f"take-{name}-{view}-{mode}", needs, (f"image{view}-{mode}",), 1))
    offered = {fact for step in steps for fact in step.adds}
    for view in range(images):
        goal.append(draw.choice(sorted(fact for fact in offered if fact.startswith(f"image{view}-"))))
    return classical("satellite", images, steps, start, goal)


def rovers(samples: int) -> Problem:
    """Two rovers that take samples, one at a time, and send what they found from where the base can be seen."""
    draw, places = Random(samples), [f"w{n}" for n in range(samples + 3)]
    near = {*pairwise(places), *(tuple(sorted(draw.sample(places, 2))) for _ in range(samples))}
    visible = draw.sample(places, 2)
    steps, start = list[Step](), list[str]()
    for r in range(2):
        start += [f"r{r}@{draw.choice(places)}", f"empty{r}"]
        steps += [drive(f"r{r}", *way, 2) for a, b in sorted(near) for way in ((a, b), (b, a))]
        steps.append(Step(f"drop{r}", (f"full{r}",), (f"empty{r}",), 1, (f"full{r}",)))
    goal = []
    for n in range(samples):
        spot = draw.choice(places)
        start.append(f"sample{n}@{spot}")
        goal.append(f"sent{n}")
        for r in range(2):
            needs = (f"r{r}@{spot}", f"sample{n}@{spot}", f"empty{r}")
            steps.append(Step(f"take{r}-{n}", needs, (f"has{r}-{n}", f"full{r}"), 3, needs[1:]))
            steps += [Step(f"send{r}-{n}-{p}", (f"r{r}@{p}", f"has{r}-{n}"), (f"sent{n}",), 1) for p in visible]
    return classical("rovers", samples, steps, start, goal)


def open_stacks(orders: int) -> Problem:
    """Products and the stacks of the orders that want them: only to open a new stack costs something."""
    draw, products = Random(orders), range(orders)
    wants = [draw.sample(products, draw.randint(1, min(3, orders))) for _ in range(orders)]
    steps = [Step(f"open-{n}", (f"stacks{n}",), (f"stacks{n + 1}",), 1, (f"stacks{n}",)) for n in range(orders)]
    for o, n in product(range(orders), range(1, orders + 1)):
        less, more = f"stacks{n - 1}", f"stacks{n}"
        steps.append(Step(f"start-{o}-{n}", (f"waiting-{o}", more), (f"started-{o}", less), 0, (f"waiting-{o}", more)))
        needs = (f"started-{o}", less, *(f"made-{p}" for p in wants[o]))
        steps.append(Step(f"ship-{o}-{n}", needs, (f"shipped-{o}", more), 0, (f"started-{o}", less)))
    for p in products:
        needs = (f"unmade-{p}", *(f"started-{o}" for o in range(orders) if p in wants[o]))
        steps.append(Step(f"make-{p}", needs, (f"made-{p}",), 0, (f"unmade-{p}",)))
    start = ["stacks0", *(f"waiting-{o}" for o in range(orders)), *(f"unmade-{p}" for p in products)]
    return classical("open stacks", orders, steps, start, (f"shipped-{o}" for o in range(orders)))


def job_shop(parts: int) -> Problem:
    """Parts that are drilled, painted and polished: machines have to be set up, parts are moved for nothing."""
    draw, jobs = Random(parts), ("drill", "paint", "polish")
    steps, start, goal = list[Step](), list[str](), list[str]()
    for job in jobs:
        for mode, other in permutations("ab"):
            steps.append(Step(f"set-{job}-{mode}", (f"{job}-{other}",), (f"{job}-{mode}",), 2, (f"{job}-{other}",)))
        start += [f"{job}-a", f"idle-{job}"]
    for n in range(parts):
        start.append(f"stored{n}")
        for job in jobs:
            needs, there = (f"stored{n}", f"idle-{job}"), f"part{n}@{job}"
            steps.append(Step(f"bring-{n}-{job}", needs, (there,), 0, needs))
            steps.append(Step(f"return-{n}-{job}", (there,), needs, 0, (there,)))
            mode = draw.choice("ab")
            before = tuple(f"done-{n}-{earlier}" for earlier in jobs[: jobs.index(job)]) if n % 2 else ()
            steps.append(Step(f"work-{n}-{job}", (there, f"{job}-{mode}", *before), (f"done-{n}-{job}",), 1))
            dear = (there, f"{job}-{'ab'.replace(mode, '')}", *before)
            steps.append(Step(f"slow-{n}-{job}", dear, (f"done-{n}-{job}",), 3))
            goal.append(f"done-{n}-{job}")
    return classical("job shop", parts, steps, start, goal)


def driver_log(packages: int) -> Problem:
    """Drivers who walk, lorries that need one, packages."""
    draw, places = Random(packages), [f"c{n}" for n in range(packages + 2)]
    roads = [*pairwise(places), (places[0], places[-1])]
    steps, start, goal = list[Step](), list[str](), list[str]()
    for d in range(2):
        start.append(f"d{d}@{draw.choice(places)}")
        steps += [drive(f"d{d}", *way, 2) for a, b in roads for way in ((a, b), (b, a))]
    for v in range(2):
        start += [f"v{v}@{draw.choice(places)}", f"free{v}"]
        for d, place in product(range(2), places):
            needs = (f"d{d}@{place}", f"v{v}@{place}", f"free{v}")
            steps.append(Step(f"enter-{d}-{v}-{place}", needs, (f"d{d}in{v}", f"manned{v}"), 1, (needs[0], needs[2])))
            inside = (f"d{d}in{v}", f"v{v}@{place}")
            adds = (f"d{d}@{place}", f"free{v}")
            steps.append(Step(f"leave-{d}-{v}-{place}", inside, adds, 1, (inside[0], f"manned{v}")))
        for a, b in (*roads, *((b, a) for a, b in roads)):
            steps.append(Step(f"drive-{v}-{a}-{b}", (f"v{v}@{a}", f"manned{v}"), (f"v{v}@{b}",), 1, (f"v{v}@{a}",)))
    for n in range(packages):
        origin, target = draw.sample(places, 2)
        start.append(f"p{n}@{origin}")
        goal.append(f"p{n}@{target}")
        for v, place in product(range(2), places):
            steps += load(f"p{n}", f"v{v}", place)
    return classical("driver log", packages, steps, start, goal)


def agent_like(actions: int) -> Problem:
    """Results that need others, each given by several actions at different prices, with sources that overlap.

    Costs are thousandths from 0 to 1. Some actions use something up; each wanted result is given by a few.
    """
    draw = Random(actions)
    layers = 4
    width = max(3, actions // 14)
    facts = [[f"r{layer}-{n}" for n in range(width)] for layer in range(layers)]
    steps = [Step(f"renew-token{n}", (), (f"token{n}",), 100) for n in range(3)]
    while len(steps) < actions:
        n = len(steps)
        layer = n % layers
        first = (n // layers) % width
        adds = {facts[layer][first]}
        if draw.random() < 0.4:
            adds.add(draw.choice(facts[layer]))
        needs = set(draw.sample(facts[layer - 1], draw.randint(1, 2))) if layer else set()
        deletes = set[str]()
        if draw.random() < 0.15:
            deletes.add(f"token{draw.randrange(3)}")
            needs |= deletes
        steps.append(
            Step(
                f"act{n}",
                tuple(sorted(needs)),
                tuple(sorted(adds)),
                draw.choice((0, 50, 100, 250, 500, 1000)),
                tuple(sorted(deletes)),
            )
        )
    goal = draw.sample(facts[-1], min(width, 3 + actions // 60))
    return classical("agent-like", actions, steps, ("start", "token0", "token1", "token2"), goal)


def overlapping(actions: int) -> Problem:
    """A cover: sources of different price that give several of the wanted facts each; some need a key first."""
    draw = Random(actions + 1)
    wanted = [f"fact{n}" for n in range(max(5, actions // 10))]
    keys = [f"key{n}" for n in range(5)]
    steps = [Step(f"get-{key}", (), (key,), draw.randint(100, 1000)) for key in keys]
    for n in range(actions - len(steps)):
        adds = {wanted[n % len(wanted)], *draw.sample(wanted, draw.randint(0, 3))}
        needs = (draw.choice(keys),) if draw.random() < 0.3 else ()
        steps.append(Step(f"source{n}", needs, tuple(sorted(adds)), draw.randint(100, 300) * len(adds)))
    return classical("overlapping sources", actions, steps, ("start",), wanted)


FAMILIES: tuple[tuple[Build, tuple[int, ...]], ...] = (
    (gripper, (4, 6, 8, 11, 14)),
    (blocks, (5, 6, 8, 10, 14)),
    (logistics, (3, 4, 5, 7, 10)),
    (transport, (2, 3, 4, 5, 7)),
    (miconic, (4, 6, 8, 10, 14)),
    (hanoi, (3, 4, 5, 6, 7)),
    (tiles, (10, 20, 30, 50, 100)),
    (sokoban, (5, 6, 7, 8, 10)),
    (visit_all, (3, 4, 5, 6, 8)),
    (ferry, (3, 4, 5, 7, 10)),
    (satellite, (3, 4, 5, 6, 8)),
    (rovers, (3, 4, 5, 6, 8)),
    (open_stacks, (4, 5, 6, 8, 12)),
    (job_shop, (2, 3, 4, 6, 9)),
    (driver_log, (2, 3, 4, 5, 7)),
)
AGENT_LIKE: tuple[tuple[Build, tuple[int, ...]], ...] = (
    (agent_like, (50, 100, 150, 300, 500)),
    (overlapping, (50, 100, 150, 210, 300)),
)


def classical_problems() -> list[Problem]:
    return [build(size) for build, sizes in FAMILIES for size in sizes]


def agent_problems() -> list[Problem]:
    return [build(size) for build, sizes in AGENT_LIKE for size in sizes]
