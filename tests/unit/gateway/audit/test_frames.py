"""Records of a spool: cut anywhere, scratched anywhere, what is whole is found and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.gateway.audit.spool import frame_record, scan_records

PAYLOADS = st.lists(st.binary(min_size=1, max_size=40).filter(lambda b: b"\n" not in b), max_size=8)


def written(payloads):
    return b"".join(map(frame_record, payloads))


@settings(max_examples=50)
@given(PAYLOADS)
def test_what_was_written_is_read(payloads):
    content = written(payloads)
    assert scan_records(content, 99, final=True) == (payloads, len(content), 0)


@settings(max_examples=50)
@given(PAYLOADS, st.data())
def test_a_file_cut_anywhere_gives_the_records_before_the_cut_and_is_not_damaged(payloads, data):
    content = written(payloads)
    cut = data.draw(st.integers(0, len(content)))
    whole, place = [], 0
    for payload in payloads:
        place += len(frame_record(payload))
        if place <= cut:
            whole.append(payload)
    found = scan_records(content[:cut], 99, final=True)
    assert found == (whole, cut, 0)
    growing = scan_records(content[:cut], 99, final=False)
    assert growing.records == whole
    assert growing.end == len(written(whole))


@settings(max_examples=50)
@given(PAYLOADS.filter(bool), st.data())
def test_a_changed_byte_costs_one_record_and_shows(payloads, data):
    content = bytearray(written(payloads))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    found = scan_records(bytes(content), 99, final=True)
    hit = 0
    while place >= len(written(payloads[: hit + 1])):
        hit += 1
    left = payloads[:hit] + payloads[hit + 1 :]
    joined = found.records == payloads[:hit] + payloads[hit + 2 :]  # its line break was hit
    assert found.records == left or joined
    assert found.end == len(content)
    assert found.damage > 0 or hit == len(payloads) - 1


@settings(max_examples=50)
@given(PAYLOADS, st.integers(1, 3))
def test_reading_in_portions_reads_all(payloads, most):
    content, got, place = written(payloads), [], 0
    while place < len(content):
        found = scan_records(content[place:], most, final=True)
        assert 0 < len(found.records) <= most
        got += found.records
        place += found.end
    assert got == payloads
