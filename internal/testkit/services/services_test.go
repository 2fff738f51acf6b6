package services

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/testkit"
)

func TestPostgresGivesEachTestADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	first, second := Postgres(t), Postgres(t)
	if first == second {
		t.Fatalf("Postgres() gave %s twice", first)
	}
	for _, u := range []string{first, second} {
		conn, err := pgx.Connect(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (id int)"); err != nil {
			t.Errorf("the database is not empty: %v", err)
		}
		conn.Close(t.Context())
	}
}

func TestKafkaGivesEachTestATopicPrefixOfItsOwn(t *testing.T) {
	t.Parallel()
	first, second := Kafka(t), Kafka(t)
	if first.TopicPrefix == second.TopicPrefix {
		t.Errorf("Kafka() gave the prefix %q twice", first.TopicPrefix)
	}
	conn, err := net.Dial("tcp", first.Brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestOwnServerStopsDiesAndStartsAgainOnItsPort(t *testing.T) {
	t.Parallel()
	s := Own(t, KindRedis)
	u, err := url.Parse(s.value)
	if err != nil {
		t.Fatal(err)
	}
	ping := func() error {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			return err
		}
		defer conn.Close()
		fmt.Fprint(conn, "PING\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && line != "+PONG\r\n" {
			err = fmt.Errorf("answered %q", line)
		}
		return err
	}
	for _, end := range []func(testing.TB){s.Stop, s.Kill} {
		if err := ping(); err != nil {
			t.Fatalf("a started server does not answer: %v", err)
		}
		end(t)
		if err := ping(); err == nil {
			t.Fatal("a stopped server answers")
		}
		s.Start(t)
	}
}

// The kernel closes a killed process's pipes, so closing the pipe is what the
// tool sees of a kill -9 of whoever started it.
func TestServerEndsWhenItsStarterDoes(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t, KindRedis)
	s, err := launch(KindRedis)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.value)
	if err != nil {
		t.Fatal(err)
	}
	s.stdin.Close()
	testkit.Eventually(t, 20*time.Second, func() error {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			return nil //nolint:nilerr // refused is what is waited for
		}
		conn.Close()
		return errors.New("the server outlived its starter")
	})
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("tools/services ended with %v", err)
	}
}
