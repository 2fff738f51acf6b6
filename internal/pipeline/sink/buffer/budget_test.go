package buffer

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestRoomIsASixteenthAtLeast(t *testing.T) {
	t.Parallel()
	b := NewBudget(160)
	b.Take(150)
	if free, err := b.Room(t.Context(), nil); free != 10 || err != nil {
		t.Errorf("Room() = %d, %v, want 10", free, err)
	}
	b.Take(1)
	asked := 0
	lend := func() bool { asked++; return true }
	if free, err := b.Room(t.Context(), lend); free != 10 || err != nil || asked != 1 {
		t.Errorf("Room() = %d, %v, asked %d times; want a sixteenth lent", free, err, asked)
	}
}

func TestRoomWaitsUntilSomethingIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, free := NewBudget(160), make(chan int64)
		b.Take(160)
		go func() {
			n, err := b.Room(t.Context(), func() bool { return false })
			if err != nil {
				t.Error(err)
			}
			free <- n
		}()
		b.Release(9)
		synctest.Wait()
		select {
		case n := <-free:
			t.Fatalf("%d bytes are free", n)
		default:
		}
		b.Release(1)
		if n := <-free; n != 10 {
			t.Errorf("%d bytes are free, want 10", n)
		}
		b.Take(10)
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := b.Room(ended, func() bool { return false }); err == nil {
			t.Error("it waits for ever")
		}
	})
}
