package config

import "strings"

// TLS says how connections to one backend are encrypted: the same settings for all
// of them. There is none that leaves the verification out.
type TLS struct {
	Enabled    bool   `koanf:"enabled" help:"Encrypt the connections, and verify the server's certificate and name."`
	CAFile     string `koanf:"ca_file" form:"path" empty:"ok" help:"PEM file of the certificate authorities that may sign the server's certificate. Empty means the system's."`
	CertFile   string `koanf:"cert_file" form:"path" empty:"ok" help:"PEM file of the client certificate, followed by its intermediate certificates. Empty sends none."`
	KeyFile    string `koanf:"key_file" form:"path" empty:"ok" help:"PEM file of the client certificate's key, without a passphrase. Required with the client certificate."`
	ServerName string `koanf:"server_name" form:"text" empty:"ok" help:"Name that the server's certificate must have. Empty means the host of its address."`
	MinVersion string `koanf:"min_version" oneof:"1.2 1.3" help:"Oldest TLS version allowed, 1.2 or 1.3."`
}

// leastTLS is the default.
var leastTLS = TLS{MinVersion: "1.2"}

// fileSuffix ends the key of the setting that names a file for a secret. Every
// secret has one.
const fileSuffix = "_file"

// IsSet reports whether the settings name a store.
func (s Store) IsSet() bool { return s.URL != "" || s.URLFile != "" }

// IsSet reports whether the settings name a Redis.
func (r Redis) IsSet() bool { return r.URL != "" || r.URLFile != "" }

// given reports whether a secret is there, as a value or as a file.
func given(value Secret, file string) bool { return value != "" || file != "" }

// twice finds secrets that are given as a value and as a file.
func (s Settings) twice() []*problem {
	var out []*problem
	for i := range table {
		f := &table[i]
		if f.hasFile(&s) && !f.isEmpty(&s) {
			out = append(out, &problem{key: f.Key + fileSuffix, text: "must not be set together with " + f.Key})
		}
	}
	return out
}

// tlsNeeds are what the settings of encryption need of each other.
func (s Settings) tlsNeeds() []need {
	var all []need
	for _, b := range []struct {
		name string
		tls  TLS
		on   bool
	}{
		{"kafka", s.Kafka.TLS, s.Kafka.TLS.Enabled},
		{"clickhouse", s.ClickHouse.TLS, s.ClickHouse.TLS.Enabled},
		{"store", s.Store.TLS, s.Store.TLS.Enabled},
		// A URL may ask for it as well; that of a file is not known yet.
		{
			"redis", s.Redis.TLS,
			s.Redis.TLS.Enabled || s.Redis.URLFile != "" || strings.HasPrefix(s.Redis.URL.Reveal(), "rediss:"),
		},
	} {
		key := b.name + ".tls."
		for _, f := range []struct{ name, value string }{
			{"ca_file", b.tls.CAFile},
			{"cert_file", b.tls.CertFile},
			{"key_file", b.tls.KeyFile},
			{"server_name", b.tls.ServerName},
		} {
			all = append(all, need{key + f.name, f.value != "", key + "enabled", b.on, "false"})
		}
		all = append(all,
			need{key + "cert_file", b.tls.CertFile != "", key + "key_file", b.tls.KeyFile != "", "empty"},
			need{key + "key_file", b.tls.KeyFile != "", key + "cert_file", b.tls.CertFile != "", "empty"},
		)
	}
	return all
}
