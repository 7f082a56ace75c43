"""`verify`: what it takes, and what it says where that cannot be used."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_runtime.cli import main
from pipeline_runtime.evidence.runs import EventKind, Receipt, RunEvidence
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.evidence.verification.signature import commit_signature
from sandbox.audited_domain import RUN, AuditedDomain, ssh_signing


@pytest.fixture
def evidence(tmp_path: Path, domain: AuditedDomain, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The evidence folder after one honest run, named by the deployment's environment."""
    domain.commit()
    domain.run(tmp_path / "evidence")
    monkeypatch.setenv("CORDATA_EVIDENCE", str(tmp_path / "evidence"))
    monkeypatch.delenv("CORDATA_LINEAGE_URL", raising=False)
    return tmp_path / "evidence"


def verify(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, what: str, *options: str
) -> tuple[int, str, str]:
    signers = ("--allowed-signers", str(keys / "allowed_signers"))
    code = main(["verify", what, "--repository", str(domain.top), *signers, *options])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_run_id_is_looked_up_in_the_evidence_prefix_of_the_deployment(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path
) -> None:
    code, out, _ = verify(capsys, keys, domain, RUN.upper())
    assert (code, out.startswith(f"verified: run {RUN} ")) == (0, True)


def test_the_evidence_prefix_may_lie_in_s3(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path, aws: Any
) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="audited", CreateBucketConfiguration={"LocationConstraint": aws.region})
    for file in (evidence / "runs" / RUN).iterdir():
        s3.put_object(Bucket="audited", Key=f"evidence/runs/{RUN}/{file.name}", Body=file.read_bytes())
    assert verify(capsys, keys, domain, RUN, "--evidence", "s3://audited/evidence")[0] == 0


def test_a_start_event_that_tells_another_story_is_found(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path
) -> None:
    file = evidence / "runs" / RUN / "start.json"
    event = json.loads(file.read_bytes())
    event["run"]["facets"]["cordata_provenance"]["descriptor_sha256"] = "0" * 64
    file.write_text(json.dumps(event))
    code, out, _ = verify(capsys, keys, domain, RUN)
    assert code == 1
    assert out.startswith(f"events disagree: descriptor_sha256: START says {'0' * 64}, the terminal event ")


def test_a_terminal_event_that_is_not_the_delivered_one_is_found(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path
) -> None:
    run = RunEvidence(open_store(str(evidence), lambda: pytest.fail("no S3 here")), RUN)
    receipt = Receipt("ab" * 32, "2026-08-04T09:14:23Z", "https://adapter/lineage", "accepted", "lin-1")
    run.record_delivery(EventKind.TERMINAL, receipt)
    code, out, _ = verify(capsys, keys, domain, RUN)
    assert (code, out.startswith(f"delivered event differs: TERMINAL: {'ab' * 32} was delivered")) == (1, True)


@pytest.mark.parametrize("whole", ["honest", "gone", "changed", "of another declaration"])
def test_the_whole_of_an_event_that_was_slimmed_must_say_the_same(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path, whole: str
) -> None:
    folder = evidence / "runs" / RUN
    body = (folder / "terminal.json").read_bytes()
    event = json.loads(body)
    if whole == "of another declaration":
        body = body.replace(b"2026-07-fraud-v3", b"2026-08-fraud-v4")
    digest = hashlib.sha256(body).hexdigest()
    (folder / "full").mkdir()
    kept = folder / "full" / f"{digest}.json"
    if whole != "gone":
        kept.write_bytes(body + b" " if whole == "changed" else body)
    event["run"]["facets"]["cordata_slimmed"] = {"full_sha256": digest, "dropped": ["columnLineage"]}
    (folder / "terminal.json").write_text(json.dumps(event))

    code, out, _ = verify(capsys, keys, domain, RUN)

    expected = (0, "verified") if whole == "honest" else (1, "whole event differs")
    assert (code, out.partition(":")[0], len(out.splitlines())) == (*expected, 1)


def test_another_runs_event_under_this_run_is_found(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path
) -> None:
    other = "0d2f6a77-0000-4c0f-9a1a-2c9f8b1a5e12"
    shutil.copytree(evidence / "runs" / RUN, evidence / "runs" / other)
    code, out, _ = verify(capsys, keys, domain, other)
    assert (code, f"says {RUN}" in out) == (1, True)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ("nothing", "no such run is in this evidence prefix"),
        ("start", "the run has started and not ended"),
        ("refused", "was refused before any event, so there is nothing to verify: the descriptor does not parse"),
    ],
)
def test_a_run_without_a_terminal_event_cannot_be_verified(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, evidence: Path, left: str, said: str
) -> None:
    folder = evidence / "runs" / RUN
    (folder / "terminal.json").unlink()
    if left != "start":
        (folder / "start.json").unlink()
    if left == "refused":
        (folder / "refused.json").write_text('{"reason": "the descriptor does not parse", "refused_at": "2026-08-04"}')
    code, _, err = verify(capsys, keys, domain, RUN)
    assert (code, said in err) == (2, True), err


def test_without_an_evidence_prefix_a_run_id_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CORDATA_EVIDENCE", raising=False)
    code, _, err = verify(capsys, keys, domain, RUN)
    assert (code, err.startswith("CORDATA_EVIDENCE is not set")) == (2, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "is not one JSON document"),
        (b"{", "is not one JSON document"),
        (b"\xff\xfe", "is not one JSON document"),
        (b"[]", "holds a list of 0 items; pass a file that holds one event"),
        (b'{"a": 1}', "is no OpenLineage run event (it has no eventType)"),
        (b"[" * 100_000, "is nested too deeply to be an event"),
        (b'{"eventType": "OTHER", "job": {"name": "x.validate"}}', "this OTHER event of job x.validate carries no"),
    ],
)
def test_a_file_that_holds_no_event_is_refused_with_the_reason(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, tmp_path: Path, body: bytes, said: str
) -> None:
    (tmp_path / "event.json").write_bytes(body)
    code, out, err = verify(capsys, keys, domain, str(tmp_path / "event.json"))
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("eventTime",), "2026-08-04T09:14:22", "eventTime is '2026-08-04T09:14:22'; expected is ISO 8601"),
        (("eventTime",), None, "eventTime is None"),
        (("run", "runId"), None, "runId is missing"),
        (("run", "facets", "cordata_provenance", "descriptor_sha256"), "ABC", "descriptor_sha256 is 'ABC'"),
        (("run", "facets", "cordata_provenance", "descriptor_git_commit"), "--help", "commit is '--help'"),
        (("run", "facets", "cordata_provenance", "descriptor_path"), 7, "descriptor_path is missing or no text"),
        (("run", "facets", "cordata_provenance", "file_sha256"), {"a": None}, "file_sha256 of 'a' is None"),
        (("run", "facets", "cordata_provenance", "file_sha256"), {"\ud800": "0" * 64}, "cannot be the name of a file"),
        (("run", "facets", "cordata_provenance", "descriptor_path"), "\ud800.yml", "cannot be the name of a file"),
    ],
)
def test_a_malformed_event_is_refused_and_names_the_field(
    capsys: pytest.CaptureFixture[str],
    keys: Path,
    domain: AuditedDomain,
    tmp_path: Path,
    where: tuple[str, ...],
    value: object,
    said: str,
) -> None:
    domain.commit()
    event = domain.event()
    holder = event
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = value
    (tmp_path / "event.json").write_text(json.dumps(event))
    code, _, err = verify(capsys, keys, domain, str(tmp_path / "event.json"))
    assert code == 2
    assert said in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--repository", "nowhere"), "--repository nowhere: is no folder"),
        (("--repository", "."), "--repository .: is no git repository"),
        (("--bundle", "nothing.bundle"), "--bundle nothing.bundle: is no file"),
        (("--bundle", "event.json"), "--bundle event.json: is no usable bundle"),
        (("--allowed-signers", "nobody"), "--allowed-signers nobody: is no file"),
    ],
)
def test_a_place_that_cannot_be_used_is_named(
    capsys: pytest.CaptureFixture[str],
    domain: AuditedDomain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, str],
    said: str,
) -> None:
    domain.commit()
    (tmp_path / "event.json").write_text(json.dumps(domain.event()))
    monkeypatch.chdir(tmp_path)
    place = () if options[0] in {"--repository", "--bundle"} else ("--repository", str(domain.top))
    code = main(["verify", "event.json", *place, *options])
    assert code == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize("keyring", ["missing", "empty", "nonsense"])
def test_a_keyring_without_keys_cannot_be_used(
    capsys: pytest.CaptureFixture[str], domain: AuditedDomain, gpg_home: Any, tmp_path: Path, keyring: str
) -> None:
    domain.signing = gpg_home.signing(gpg_home.new_key(f"keyring-{keyring}"))
    domain.commit()
    (tmp_path / "event.json").write_text(json.dumps(domain.event()))
    path = tmp_path / keyring
    if keyring != "missing":
        path.write_text("" if keyring == "empty" else "no keys at all\n")
    code = main(
        ["verify", str(tmp_path / "event.json"), "--repository", str(domain.top), "--keyring", str(path)],
    )
    assert code == 2
    assert capsys.readouterr().err.startswith(f"--keyring {path}: ")


@pytest.mark.parametrize("tool", ["git", "ssh-keygen", "gpg"])
def test_a_tool_that_is_not_installed_is_named(
    capsys: pytest.CaptureFixture[str],
    domain: AuditedDomain,
    keys: Path,
    gpg_home: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
) -> None:
    if tool == "gpg":
        domain.signing = gpg_home.signing(gpg_home.new_key("tool"))
    domain.commit()
    (tmp_path / "event.json").write_text(json.dumps(domain.event()))
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in {"git", "ssh-keygen", "gpg"} - {tool}:
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    code, _, err = verify(capsys, keys, domain, str(tmp_path / "event.json"))
    assert (code, err.startswith(f"{tool} is not installed")) == (2, True), err


def test_a_release_names_no_files_of_steps_since_it_runs_none(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, tmp_path: Path
) -> None:
    from pipeline_runtime.lineage.events import RunStatus, terminal_event, to_bytes
    from pipeline_runtime.lineage.facts import Release
    from pipeline_runtime.lineage.provenance import provenance
    from sandbox.audited_domain import ENDED

    domain.commit()
    facts = replace(
        domain.facts(),
        release=Release(RUN, "ana", "seen"),
        provenance=provenance(domain.descriptor, (), domain_root=domain.root),
    )
    (tmp_path / "event.json").write_bytes(to_bytes(terminal_event(facts, RunStatus.COMPLETE, at=ENDED)))
    code, out, _ = verify(capsys, keys, domain, str(tmp_path / "event.json"))
    assert (code, out.rstrip().endswith("holds 1 file as the event says")) == (0, True)


@pytest.mark.parametrize("file", ["transforms/score.py", "transforms/score/__init__.py"])
def test_a_python_step_is_code_whose_hash_must_be_there(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, tmp_path: Path, file: str
) -> None:
    code_file = domain.root / file
    code_file.parent.mkdir(parents=True)
    code_file.write_text("def transform(frame, params):\n    return frame\n")
    module = "kind: python\n    module: domains.fraud.transforms.score"
    text = domain.descriptor.read_text().replace("kind: sql\n    query_file: sql/score.sql", module)
    domain.descriptor.write_text(text)
    domain.commit()
    event = domain.event()
    (tmp_path / "event.json").write_text(json.dumps(event))
    assert verify(capsys, keys, domain, str(tmp_path / "event.json"))[0] == 0

    del event["run"]["facets"]["cordata_provenance"]["file_sha256"][f"domains/fraud/{file}"]
    (tmp_path / "event.json").write_text(json.dumps(event))

    code, out, _ = verify(capsys, keys, domain, str(tmp_path / "event.json"))
    assert (code, out) == (
        1,
        "unlisted file: the descriptor names transforms/score.py, and the event holds no hash of it\n",
    )


def test_several_findings_come_on_a_line_each(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, tmp_path: Path
) -> None:
    domain.signing = ssh_signing(keys / "eve")
    domain.commit()
    event = domain.event()
    event["run"]["facets"]["cordata_provenance"]["file_sha256"] = {}
    (tmp_path / "event.json").write_text(json.dumps(event))
    code, out, _ = verify(capsys, keys, domain, str(tmp_path / "event.json"))
    assert code == 1
    assert [line.partition(":")[0] for line in out.splitlines()] == ["unknown key", "unlisted file", "unlisted file"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in inner for place in places(item, (*at, key)))]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_an_event_holds_the_answer_is_a_line_and_never_a_traceback(
    capsys: pytest.CaptureFixture[str], keys: Path, domain: AuditedDomain, tmp_path: Path, data: st.DataObject
) -> None:
    if not (domain.top / ".git" / "index").exists():
        domain.commit()
    event: Any = domain.event()
    event.pop("outputs")
    place = data.draw(st.sampled_from([place for place in places(event) if place]))
    holder = event
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = data.draw(JSON)
    (tmp_path / "event.json").write_text(json.dumps(event))

    code, out, err = verify(capsys, keys, domain, str(tmp_path / "event.json"))

    assert code in {0, 1, 2}
    assert bool(out) == (code != 2)
    assert bool(err) == (code == 2)


HEADERS = st.lists(st.binary(min_size=1).filter(lambda raw: b"\n" not in raw), min_size=1).map(
    lambda lines: [b"tree " + b"0" * 40, *(b"x " + line for line in lines)]
)
ARMOUR = st.lists(st.binary(min_size=1).filter(lambda raw: b"\n" not in raw), min_size=1)


@given(HEADERS, ARMOUR, st.binary(), st.data())
def test_taking_a_signature_out_of_a_commit_gives_back_what_was_signed(
    headers: list[bytes], armour: list[bytes], message: bytes, data: st.DataObject
) -> None:
    """git signs the commit without the header, then inserts it: we must undo exactly that, wherever it stands."""
    payload = b"\n".join(headers) + b"\n\n" + message
    at = data.draw(st.integers(1, len(headers)))
    header = b"gpgsig " + b"\n ".join(armour)
    commit = b"\n".join([*headers[:at], header, *headers[at:]]) + b"\n\n" + message

    found = commit_signature(commit)

    assert commit_signature(payload) is None
    assert found is not None
    assert (found.payload, found.signature) == (payload, b"\n".join(armour) + b"\n")
