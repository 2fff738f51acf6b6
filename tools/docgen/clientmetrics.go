package main

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
)

// registered keeps what a client registers, and counts nothing.
type registered struct{ descs []*prometheus.Desc }

// Register implements prometheus.Registerer.
func (r *registered) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		c.Describe(descs)
	}()
	for d := range descs {
		r.descs = append(r.descs, d)
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *registered) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = r.Register(c) // never fails
	}
}

// Unregister implements prometheus.Registerer.
func (*registered) Unregister(prometheus.Collector) bool { return false }

// kafkaClientDescs describes the metrics that the client library exports for each of
// our clients, those that have no value yet included. It connects to nothing.
func kafkaClientDescs() ([]*prometheus.Desc, error) {
	var reg registered
	cfg := config.Kafka{Brokers: []string{"127.0.0.1:1"}}
	opts, err := kafka.ClientOptions(cfg, "any", slog.New(slog.DiscardHandler), &reg)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	client.Close()
	return reg.descs, nil
}
