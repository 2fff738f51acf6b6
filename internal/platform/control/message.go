package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// messageVersion is the revision of the envelope that this package writes. A
// reader accepts any revision from 1 on: fields are only added.
const messageVersion = 1

// message is the value of a record of control.v1.
type message struct {
	Version       int             `json:"v"`
	Kind          Kind            `json:"kind"`
	ID            string          `json:"id"`
	Organization  string          `json:"organization,omitempty"`
	Epoch         int64           `json:"epoch"`
	RecordVersion int64           `json:"version"`
	Relayed       int64           `json:"relayed"`
	Refs          []string        `json:"refs,omitempty"`
	State         json.RawMessage `json:"state,omitempty"`
	Gone          bool            `json:"gone,omitempty"`
	At            int64           `json:"at"` // Unix milliseconds
}

var errIncomplete = errors.New("the revision, kind or epoch is missing")

// encode makes the record of a change. The head is the outbox's when it is
// published.
func encode(c Change, head Head, now time.Time) (record.Record, error) {
	m := message{
		Version: messageVersion, Kind: c.Kind, ID: c.ID, Organization: c.OrganizationID,
		Epoch: head.Epoch, RecordVersion: c.Version, Relayed: head.Relayed,
		Refs: c.Refs, State: json.RawMessage(c.State), Gone: c.Gone, At: c.At.UnixMilli(),
	}
	value, err := json.Marshal(m)
	if err != nil {
		return record.Record{}, fmt.Errorf("encoding the change of %s %s: %w", c.Kind, c.ID, err)
	}
	return record.Record{
		Topic: Topic, Key: []byte(string(c.Kind) + ":" + c.ID), Value: value, Time: now,
		Headers: []record.Header{
			{Key: record.HeaderSchema, Value: []byte(Topic)},
			{Key: record.HeaderType, Value: []byte(c.Kind)},
		},
	}, nil
}

// decode reads the value of a record.
func decode(value []byte) (Change, Head, error) {
	var m message
	err := json.Unmarshal(value, &m)
	if err == nil && (m.Version < 1 || m.Kind == "" || m.Epoch < 1) {
		err = errIncomplete
	}
	if err != nil {
		return Change{}, Head{}, fmt.Errorf("decoding a change: %w", err)
	}
	return Change{
		Kind: m.Kind, ID: m.ID, OrganizationID: m.Organization, Version: m.RecordVersion, Refs: m.Refs,
		State: string(m.State), Gone: m.Gone, At: time.UnixMilli(m.At).UTC(), Epoch: m.Epoch,
	}, Head{Epoch: m.Epoch, Relayed: m.Relayed}, nil
}
