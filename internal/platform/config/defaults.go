package config

import "time"

// Default returns the settings before any file, variable or flag: the split
// deployment's, with addresses on loopback. Standalone mode fills the empty
// backends itself.
func Default() Settings {
	return Settings{
		Data: Data{Dir: "./data"},
		Query: Query{
			Listen: "127.0.0.1:8080", Deadline: 30 * time.Second,
			MaxInFlight: 4096, MaxBodyMemory: 256 << 20, MaxConns: 4096, MaxPerAddr: 1024, IdleTime: 100 * time.Second,
			Slots: 16, WebsiteSlots: 8, Queue: 2048, WebsiteQueue: 256,
			MaxTime: 25 * time.Second, MaxMemory: 4 << 30, MaxRows: 4_000_000_000, MaxResult: 32 << 20, CacheMemory: 128 << 20,
			Export: Export{Max: 8, PerOrganization: 2, Deadline: 30 * time.Minute},
		},
		Ingest: Ingest{
			Listen: "127.0.0.1:8081", Deadline: 5 * time.Second, MaxInFlight: 16384, MaxMemory: 96 << 20, QueueTime: time.Second,
			MaxConns: 4096, MaxPerAddr: 1024, IdleTime: 100 * time.Second, MaxNames: 1000,
			ClientIDs: []string{"millrace-client-id"},
		},
		Proxy: Proxy{Header: "x-forwarded-for"},
		Limits: Limits{
			Enabled: true, Window: time.Minute, Track: 600, Page: 600, Vitals: 600, Errors: 600, Engagement: 600, Identify: 600,
			Pixel: 600, Query: 120, QueryAnonymous: 60, Compile: 300, CompileAnonymous: 60,
			Flags: 30_000, FlagsAnonymous: 3000,
			Export: 10, MCP: 300, Manage: 600, ManageAnonymous: 120, SignIn: 60, Key: 300, Concurrency: 20, IPv6Prefix: 64,
			Memory: 16 << 20,
		},
		Billing: Billing{Timeout: time.Second},
		Admin:   Admin{Listen: "127.0.0.1:9464"},
		Embedded: Embedded{
			Kafka: EmbeddedKafka{Listen: "127.0.0.1:9092"},
			ClickHouse: EmbeddedClickHouse{
				Listen: "127.0.0.1:9000",
				HTTP:   EmbeddedClickHouseHTTP{Listen: "127.0.0.1:8123"},
			},
		},
		Kafka:      Kafka{Linger: 0, MaxBufferedBytes: 256 << 20, TLS: leastTLS},
		ClickHouse: ClickHouse{Database: "millrace", User: "default", DialTimeout: 5 * time.Second, TLS: leastTLS},
		Sink: Sink{
			Group: "millrace-sink", MaxRows: 65_536, MaxBytes: 42 << 20, MaxWait: time.Second, MaxInserts: 100,
			InsertTimeout: 25 * time.Second, Session: 20 * time.Second, Rebalance: 60 * time.Second,
			MaxMemory: 224 << 20, Connections: 3,
			Window: time.Hour, WindowKeys: 4_000_000, WindowMemory: 2 << 30, DrainBudget: 20 * time.Second,
			TombstoneAge: 5 * time.Second, DeadLetterLimit: 0.01,
			Lanes: []string{"live", "backfill", "web", "clicks", "exposures"}, Backfill: Backfill{Rate: 50_000, MaxParts: 150},
			ReconcileInterval: time.Minute, ReconcilePairs: 5000,
		},
		Store: Store{MaxOpen: 8, MaxIdle: 8, Lifetime: 30 * time.Minute, IdleTime: 5 * time.Minute, TLS: leastTLS},
		Redis: Redis{Timeout: 250 * time.Millisecond, PoolSize: 64, IdleTime: 5 * time.Minute, TLS: leastTLS},
		Key:   Key{Prefix: "mlr"},
		Link: Link{
			Schemes: []string{"https", "http"}, MaxLinks: 100_000, CacheEntries: 1_000_000, MaxInFlight: 16384,
			MaxBufferedBytes: 64 << 20,
		},
		Session:  Session{SignUp: "invite", Idle: 14 * 24 * time.Hour, Absolute: 90 * 24 * time.Hour},
		Mail:     Mail{SMTP: SMTP{TLS: "starttls"}},
		Lookup:   Lookup{Fresh: 5 * time.Second, Trusted: 30 * time.Second, Stale: 10 * time.Minute},
		Flags:    Flags{Memory: 256 << 20, Stale: 24 * time.Hour, MaxStreams: 10_000},
		Log:      Log{Level: "info", Format: "json"},
		Trace:    Trace{Ratio: 0.01},
		Shutdown: Shutdown{Grace: 30 * time.Second},
	}
}
