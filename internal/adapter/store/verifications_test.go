package store

import (
	"testing"
	"time"
)

// Who had an account before addresses were verified goes on as before.
func TestPeopleOfBeforeCountAsVerified(t *testing.T) {
	t.Parallel()
	s := storeAt(t, 7)
	made := time.UnixMilli(1_700_000_000_000)
	_, err := s.pools[0].ExecContext(t.Context(), `INSERT INTO users
		(id, email, name, password_hash, created_at, password_changed_at) VALUES
		('usr_a', 'a@example.com', 'Ann', 'none', ?, ?)`, made.UnixMilli(), made.UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err := s.UserByID(t.Context(), "usr_a"); err != nil || !u.VerifiedAt.Equal(made) {
		t.Errorf("UserByID() = %+v, %v, want verified since %s", u, err, made)
	}
}
