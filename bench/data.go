package main

import (
	"context"
	"os"

	"github.com/millrace/millrace/bench/dataset"
)

// smallData is the data set of who names none.
const smallData = ".cache/bench/data"

// dataset makes the data set that the settings name, or what is missing of it.
func (s *settings) dataset(ctx context.Context) (*dataset.Manifest, error) {
	if s.data == "" {
		s.data = smallData
	}
	known, err := dataset.Open(s.data)
	if err != nil || known != nil && (known.Complete && !s.fill || s.asIs) {
		return known, err
	}
	return dataset.Fill(ctx, dataset.Options{Dir: s.data, Rows: s.dataRows, Seed: 1, Progress: os.Stderr})
}
