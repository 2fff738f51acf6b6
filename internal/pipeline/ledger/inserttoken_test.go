package ledger

import "testing"

func TestTokenNamesTopicPartitionRangeAndMonth(t *testing.T) {
	t.Parallel()
	id := [16]byte{0xde, 0xad, 0xbe, 0xef, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6}
	want := "2:deadbeef-0001-0002-0003-000400050006:7:10-42:202612"
	if got := BlockInsertToken(2, id, 7, Span{First: 10, Last: 42}, 202612); got != want {
		t.Errorf("BlockInsertToken() = %s, want %s", got, want)
	}
	if got := GapInsertToken(2, id, 7,
		Span{First: 10, Last: 42}); got != "2:deadbeef-0001-0002-0003-000400050006:7:10-42:gap" {
		t.Errorf("GapInsertToken() = %s", got)
	}
}
