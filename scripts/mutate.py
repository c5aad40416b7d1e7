#!/usr/bin/env python3
"""Mutation testing: changes a line of the host code, and looks whether a test notices. scripts/mutate.sh calls it.

    scripts/mutate.py [N [SEED]] [--folder FOLDER] [--seconds SECONDS]

N lines of the host code are drawn at random (300, seed 1), and one mutant of each: another operator or constant, a condition that is
negated or always the same, a statement that is deleted, two arguments that are swapped. Mutants that do not compile, or that the compiler
makes the same code of, are replaced by others. For each mutant only what depends on the line is built, and only the tests that execute
the line are run, those first that execute most of its file in a second, until one fails twice or SECONDS of tests (60) have passed; then
for half as long with AddressSanitizer, the tests of the emulator only if no others execute the line. A test that takes longer than SECONDS
by itself is left out; one that takes half a minute more than five times its usual time (20 times with AddressSanitizer) has failed. What no
test notices is printed as a diff.

Works in a copy of the tracked files in FOLDER (/dev/shm/sptrsm-mutation), which is kept: a run that was cut off goes on where it was, and
the build and the lists of lines that each test executes serve the next run on the same sources. What can't be noticed is not drawn: more
memory than is used, and the mutants of scripts/mutants.txt, which behave as the original.

Exit code 0: at least 92 % of the mutants were noticed, 1: fewer, 2: wrong usage, or the unchanged sources do not build.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUBJECTS = re.compile(r"(src/(core|io|trsv|trsm)|apps/solve)/.*(\.c|\.tmpl\.h)")
OBJECTS = re.compile(r"CMakeFiles/(sptrsm_objects|sptrsm_io_objects|sptrsm_emulated|sptrsm-solve)\.dir/")
UNUSED = re.compile(r"(docs|scripts|python|packaging|\.\w+)/|[^/]*\.md$")  # neither built nor read by a test that is run here
FLOOR, SKIPPED = 0.92, 77
SLOWER = 4  # tests take at most so many times as long with AddressSanitizer

# What stands for what in code that clang-format has formatted: operators with two operands have blanks on both sides.
REPLACEMENTS = {
    r" < ": [" <= ", " > "], r" > ": [" >= ", " < "], r" <= ": [" < ", " == "], r" >= ": [" > ", " == "],
    r" == ": [" != "], r" != ": [" == "], r" && ": [" || "], r" \|\| ": [" && "], r"!(?=[\w(])": [""],
    r" \+ ": [" - "], r" - ": [" + "], r" \* ": [" / "], r" / ": [" * "], r" % ": [" / "], r"\+\+": ["--"], r"--": ["++"],
    r" \+= ": [" -= ", " = "], r" -= ": [" += ", " = "], r" \|= ": [" = "],
    r" & ": [" | "], r" \| ": [" & "], r" << ": [" >> "], r" >> ": [" << "], r"\btrue\b": ["false"], r"\bfalse\b": ["true"]}
CONDITION = re.compile(r"\b(?:if|while) \(")
STATEMENT = re.compile(r"(?:[\w>.\[\]*()+-]+ (?:[-+*/|&]|<<|>>)?= .*|[\w>.\[\]()-]+(?:\+\+|--)|(?:SPTI_|spti_|free|mem)\w*\(.*\)|"
                       r"break|continue);$")
# More memory than is used is never noticed, nor is the order of two factors.
LARGER = re.compile(r"\bchar \w+\[|\b(?:spti_(?:gpu_)?(?:host_)?alloc|spti_scratch_take|spti_io_allocate)\(")
LESS = re.compile(r"(?:-|/|>>) $")  # after these a smaller number stands for more
PRODUCT = re.compile(r"\b(?:spti_host_alloc|spti_alloc|spti_scratch_take|spti_io_bytes)\(")
ARGUMENTS = re.compile(r"(?<=[(,] |.\()([^(),;]+), ([^(),;]+)(?=[,)])")


def blanked(text):
    """The text with the contents of comments, strings and preprocessor lines replaced by blanks, of the same length."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*', re.S | re.M)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def closing(code, start):
    """The place of the parenthesis that closes the one at `start`; -1 if it stands on another line."""
    depth = 0
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return -1


def opening(code, at):
    """The text up to the bracket that encloses the place `at`; empty if that bracket stands on another line, or there is none."""
    depth = 0
    for start in range(at - 1, -1, -1):
        depth += 1 if code[start] in ")]}" else -1 if code[start] in "([{" else 0
        if depth < 0:
            return code[:start + 1]
    return ""


def is_within(call, code, at):
    """Whether the place `at` stands among the arguments of a call, or the size of an array, that the pattern describes."""
    return re.search(f"(?:{call.pattern})$", opening(code, at)) is not None


def numbers_of(code):
    """The numbers of a line with what may stand for them."""
    for match in re.finditer(r"(?<![\w.])\d+(?![\w.])", code):
        number, before = int(match.group()), code[:match.start()]
        is_size = number > 0 and not re.search(r"[<>=%] $", before) and is_within(LARGER, code, match.start())
        more_memory = (-1 if LESS.search(before) else 1) if is_size else 0
        yield match, [str(number + by) for by in (-1, 1) if number + by >= 0 and by != more_memory]


def mutants_of(line, code):
    """The mutants of a line, of which `code` is the part that is no comment and no string."""
    found = set()
    for pattern, replacements in REPLACEMENTS.items():
        for match in re.finditer(pattern, code):
            found.update(line[:match.start()] + new + line[match.end():] for new in replacements)
    for match, others in numbers_of(code):
        found.update(line[:match.start()] + new + line[match.end():] for new in others)
    for match in ARGUMENTS.finditer(code):
        if opening(code, match.start()) and not is_within(PRODUCT, code, match.start()):
            found.add(line[:match.start()] + f"{match.group(2)}, {match.group(1)}" + line[match.end():])
    for match in CONDITION.finditer(code):
        start, end = match.end() - 1, closing(code, match.end() - 1)
        if end > 0:
            condition = line[start + 1:end]
            found.update(line[:start + 1] + new + line[end:] for new in (f"!({condition})", "0", f"1 || ({condition})"))
    if STATEMENT.match(code.strip()):
        found.add(line[:len(line) - len(line.lstrip())] + ";")
    return sorted(found - {line})


def known_mutants():
    """What matches "file, line, what it becomes" of a mutant of scripts/mutants.txt, joined by newlines; there … stands for any text."""
    known, file, old = [], None, None
    for text in (ROOT / "scripts/mutants.txt").read_text().splitlines():
        if text.startswith("--- "):
            file = text[4:]
        elif text.startswith("- "):
            old = text[2:]
        elif text.startswith("+ "):
            known.append(re.escape(f"{file}\n{old}\n{text[2:]}").replace("…", ".*"))
    return re.compile("|".join(known))


class Copy:
    """A copy of the sources with two builds: one that counts executed lines, and one with AddressSanitizer, which sees leaks, too."""

    def __init__(self, folder):
        self.folder = folder
        self.counting = Build(folder, "coverage", ("example_",), "-DSPTRSM_COVERAGE=ON", "-DCMAKE_BUILD_TYPE=Debug",
                              "-DCMAKE_CXX_FLAGS_DEBUG=-O2")  # kernels on the emulator: their lines are not counted
        self.checking = Build(folder, "sanitize", ("example_",), "-DSPTRSM_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")

    def prepare(self):
        """Builds both; returns the one that does not build, None if both do."""
        if not self.counting.prepare([]):
            return self.counting
        targets = {target for test in self.counting.tests.values() for target in test.targets}
        return None if self.checking.prepare(sorted(targets)) else self.checking

    def refresh(self):
        """Copies the tracked files that differ; returns a hash of those that the builds and tests use."""
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        digest = hashlib.sha256()
        for name in filter(None, names):
            source, target = ROOT / name, self.folder / name
            if not source.is_file():
                continue
            data = source.read_bytes()
            if not UNUSED.match(name):
                digest.update(name.encode() + b"\0" + data)
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        return digest.hexdigest()


class Build:
    """A build of the copy without CUDA, for all tests but those whose names begin with `without`."""

    def __init__(self, sources, name, without, *options):
        self.sources, self.without, self.options = sources, without, options
        self.folder = sources / "build" / name
        self.counts = sources / "build/counts"
        self.folder.mkdir(parents=True, exist_ok=True)

    def prepare(self, targets):
        """Builds the targets, or everything if there are none; true if that succeeds. ctest knows the commands of tests that are built."""
        subprocess.run(["cmake", "-S", self.sources, "-B", self.folder, "-G", "Ninja", "-DSPTRSM_CUDA=OFF", *self.options], check=True,
                       stdout=subprocess.DEVNULL)
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        self.commands = {os.path.relpath(c["file"], self.sources): c for c in commands if OBJECTS.search(c["command"])}
        if not self.make(targets):
            return False
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.folder, check=True, capture_output=True, text=True).stdout
        tests = [Test(t, self) for t in json.loads(listed)["tests"] if "command" in t and not t["name"].startswith(self.without)]
        self.tests = {test.name: test for test in tests}
        return True

    def make(self, targets):
        """Builds the targets; true if that succeeds."""
        with open(f"{self.folder}.log", "w") as log:
            return subprocess.run(["ninja", "-C", self.folder, *targets], stdout=log, stderr=log).returncode == 0

    def compiles(self, unit):
        """Whether the compiler takes the unit without a warning, but for what a mutant leaves unused."""
        command = self.commands[unit]
        return subprocess.run(command["command"] + " -Wall -Wextra -Werror -Wno-unused -fsyntax-only", shell=True, cwd=command["directory"],
                              capture_output=True).returncode == 0

    def optimised(self, unit):
        """The object code that the optimising compiler makes of the unit."""
        command, target = self.commands[unit], self.sources / "build/optimised.o"
        text = re.sub(r" (--coverage|-O0|-Og|-g\w*|-fprofile\S*)(?= )", "", command["command"])
        text = re.sub(r" -o \S+", f" -o {target} -O2 -w", text)
        subprocess.run(text, shell=True, cwd=command["directory"], check=True, capture_output=True)
        return target.read_bytes()


class Test:
    """A test of a build, run without ctest so that a hanging one can be ended with all its processes."""

    def __init__(self, listed, build):
        properties = {p["name"]: p["value"] for p in listed.get("properties", [])}
        self.name, self.command, self.counts = listed["name"], listed["command"], build.counts
        self.reports = build.sources / "build/reports"
        self.passes = None  # without a mutant; not known yet
        self.folder = properties.get("WORKING_DIRECTORY", build.folder)
        self.environment = dict(value.split("=", 1) for value in properties.get("ENVIRONMENT", []))
        inside = [os.path.relpath(part, build.folder) for part in self.command if part.startswith(f"{build.folder}/")]
        self.targets = [part for part in inside if part != "apps"]
        if "apps" in inside:  # the folder of the programs
            self.targets += [f"apps/{program.name}" for program in (build.folder / "apps").glob("sptrsm-*")]

    def run(self, limit):
        """Exit code, or None after `limit` seconds."""
        shutil.rmtree(self.reports, ignore_errors=True)
        self.reports.mkdir()
        asan = [self.environment.get("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS")), f"log_path={self.reports}/report"]
        environment = {**os.environ, **self.environment, "GCOV_PREFIX": str(self.counts), "ASAN_OPTIONS": ":".join(filter(None, asan))}
        process = subprocess.Popen(self.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            code = process.wait(limit)
            leaks = any("ERROR: LeakSanitizer" in report.read_text(errors="replace") for report in self.reports.iterdir())
            return 1 if code == 0 and leaks else code  # Criterion passes over a leak
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_session(process.pid)
            process.wait()

    def fails_twice(self, limit):
        """Whether the test fails, and again, so that a busy machine does not pass for a test that notices."""
        return all(self.run(limit) not in (0, SKIPPED) for _ in range(2))


def end_session(session):
    """Ends what is left of the session that a test was started in."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass  # it has ended by itself


def executed_lines(build):
    """The lines that were executed since the counts were removed: (file, unit) -> (lines with code, executed ones)."""
    found, by_folder = {}, {}
    for data in build.counts.rglob("*.gcda"):
        notes = pathlib.Path("/", data.relative_to(build.counts)).with_suffix(".gcno")
        if OBJECTS.search(str(data)) and notes.exists():
            data.with_suffix(".gcno").symlink_to(notes)
            by_folder.setdefault(data.parent, []).append(data.name)
    for folder, names in by_folder.items():
        output = subprocess.run(["gcov", "--json-format", "--stdout", *names], cwd=folder, capture_output=True, text=True).stdout
        for document in map(json.loads, output.splitlines()):
            unit = os.path.relpath(document["files"][0]["file"], build.sources) if document["files"] else None
            for file in document["files"]:
                name = os.path.relpath(file["file"], build.sources)
                if SUBJECTS.fullmatch(name):
                    lines, executed = found.setdefault((name, unit), (set(), set()))
                    lines.update(line["line_number"] for line in file["lines"])
                    executed.update(line["line_number"] for line in file["lines"] if line["count"])
    return found


def survey(build, most):
    """Runs every test alone, for `most` seconds: the tests with their times, and for each file its unit and its lines with the tests that
    execute them.
    """
    seconds, files = {}, {}
    for test in build.tests.values():
        shutil.rmtree(build.counts, ignore_errors=True)
        start = time.monotonic()
        code = test.run(most)
        if code != 0:
            why = f"longer than {most:g} s" if code is None else f"exit code {code} without a mutant"
            print(f"{test.name} is left out: {why}", flush=True)
            continue
        seconds[test.name] = time.monotonic() - start
        for (name, unit), (lines, executed) in executed_lines(build).items():
            file = files.setdefault(name, {"unit": unit, "lines": {}, "tests": []})
            for line in lines:
                file["lines"].setdefault(str(line), [])
            for line in executed:
                file["lines"][str(line)].append(test.name)
            if executed:
                file["tests"].append(test.name)
    return {"seconds": seconds, "files": files}


def surveyed(copy, digest, most):
    """The survey of these sources by tests of at most `most` seconds, from the last run if there is one."""
    stored = copy.folder / "build/survey.json"
    if stored.exists():
        survey_of = json.loads(stored.read_text())
        if survey_of["digest"] == digest and survey_of["most"] == most:
            return survey_of
    print("running every test once to see which lines it executes", flush=True)
    survey_of = {"digest": digest, "most": most, **survey(copy.counting, most)}
    stored.write_text(json.dumps(survey_of))
    return survey_of


def candidates(copy, files):
    """(file, number of the line, line, its mutants) for every line that has mutants."""
    known = known_mutants()
    for name in sorted(files):
        text = (copy.folder / name).read_text()
        if files[name]["unit"] not in copy.counting.commands:
            continue
        for number, (line, code) in enumerate(zip(text.split("\n"), blanked(text).split("\n")), 1):
            mutants = [m for m in mutants_of(line, code) if not known.fullmatch(f"{name}\n{line.strip()}\n{m.strip()}")]
            if mutants:
                yield name, number, line, mutants


class Trial:
    """One mutant."""

    def __init__(self, copy, survey_of, name, number, line, mutant):
        self.copy, self.survey, self.name, self.number, self.line, self.mutant = copy, survey_of, name, number, line, mutant
        self.file = survey_of["files"][name]

    def diff(self):
        return f"--- {self.name}\n@@ {self.number}\n- {self.line.strip()}\n+ {self.mutant.strip()}"

    def write(self, line):
        path = self.copy.folder / self.name
        lines = path.read_text().split("\n")
        lines[self.number - 1] = line
        path.write_text("\n".join(lines))

    def tests(self, most, but=""):
        """The tests that execute the line, or any of the file if the line is no statement, those first that execute most of the file in a
        second, together `most` seconds; those whose names begin with `but` only if there are no others.
        """
        names, seconds = set(self.file["lines"].get(str(self.number), self.file["tests"])), self.survey["seconds"]
        executed = Counter(name for tests in self.file["lines"].values() for name in tests)
        wanted = {name for name in names if not but or not name.startswith(but)} or names
        chosen, total = [], 0.0
        for name in sorted(wanted, key=lambda name: seconds[name] / executed[name]):
            if chosen and total + seconds[name] > most:
                continue
            total += seconds[name]
            chosen.append(name)
        return chosen

    def killer(self, build, most):
        """The name of the first test that fails, None if all pass, "build" if there is nothing to run."""
        checking = build is self.copy.checking
        for test in filter(None, map(build.tests.get, self.tests(most / 2, "simt_") if checking else self.tests(most))):
            if not build.make(test.targets):
                return "build"
            limit = 30 + 5 * self.survey["seconds"][test.name] * (SLOWER if checking else 1)
            if test.fails_twice(limit) and (not checking or self.passes_without(build, test, limit)):
                return test.name
        return None

    def passes_without(self, build, test, limit):
        """Whether the test passes without the mutant: the survey says so only of the counting build."""
        if test.passes is None:
            self.write(self.line)
            test.passes = build.make(test.targets) and test.run(limit) in (0, SKIPPED)
            self.write(self.mutant)
            if not test.passes:
                print(f"{test.name} fails with AddressSanitizer without a mutant: not counted", flush=True)
        return test.passes

    def judge(self, most):
        """{"verdict": killed, survived, same (code as the original) or invalid}, with the test that noticed."""
        counting, unit = self.copy.counting, self.file["unit"]
        self.write(self.mutant)
        try:
            if not counting.compiles(unit):
                return {"verdict": "invalid"}
            for build in (counting, self.copy.checking):
                killer = self.killer(build, most)
                if killer:
                    return {"verdict": "invalid" if killer == "build" else "killed", "by": killer}
            changed = counting.optimised(unit)
        finally:
            self.write(self.line)
        return {"verdict": "same" if changed == counting.optimised(unit) else "survived"}


def judge_all(copy, survey_of, arguments):
    """Judges mutants until there are N that count; returns those that survived, and the number of those that count."""
    stored = copy.folder / f"build/mutants-{arguments.seed}.json"
    results = json.loads(stored.read_text()) if stored.exists() else {}
    results = results if results.get("digest") == survey_of["digest"] else {"digest": survey_of["digest"]}
    draw, lines, survivors, count = random.Random(arguments.seed), list(candidates(copy, survey_of["files"])), [], 0
    draw.shuffle(lines)
    for name, number, line, mutants in lines:
        if count == arguments.n:
            break
        trial = Trial(copy, survey_of, name, number, line, draw.choice(mutants))
        start = time.monotonic()
        if trial.diff() not in results:
            results[trial.diff()] = {**trial.judge(arguments.seconds), "seconds": round(time.monotonic() - start, 1)}
            stored.write_text(json.dumps(results))
        result = results[trial.diff()]
        if result["verdict"] in ("killed", "survived"):
            count += 1
            print(f"{count:4d} {result['verdict']:8} {result['seconds']:6.1f} s {name}:{number} {result.get('by', '')}", flush=True)
        if result["verdict"] == "survived":
            survivors.append(trial)
    return survivors, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", metavar="N", nargs="?", type=int, default=300)
    parser.add_argument("seed", metavar="SEED", nargs="?", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/dev/shm/sptrsm-mutation"))
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, and so its tests, would ignore it
    copy = Copy(arguments.folder.resolve())
    digest = copy.refresh()
    broken = copy.prepare()
    if broken:
        print(f"the unchanged sources do not build: see {broken.folder}.log", file=sys.stderr)
        return 2
    survivors, count = judge_all(copy, surveyed(copy, digest, arguments.seconds), arguments)
    for trial in survivors:
        print(f"\n{trial.diff()}\n  {len(trial.tests(arguments.seconds))} tests passed")
    rate = (count - len(survivors)) / count if count else 0
    print(f"\n{count} mutants (seed {arguments.seed}): {count - len(survivors)} noticed, {100 * rate:.1f} %")
    return 0 if rate >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
