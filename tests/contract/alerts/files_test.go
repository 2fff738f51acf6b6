package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../../.."

// rule is an alert or a recording rule as its file has it.
type rule struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// ruleFiles are those that an installation loads.
func ruleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "prometheus", "*.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files of rules: %q, %v", files, err)
	}
	return files
}

// allRules reads every rule of every file.
func allRules(t *testing.T) (all []rule) {
	t.Helper()
	for _, file := range ruleFiles(t) {
		var content struct {
			Groups []struct {
				Rules []rule `yaml:"rules"`
			} `yaml:"groups"`
		}
		decode(t, file, &content)
		for _, g := range content.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

func alertsOf(all []rule) (alerts []rule) {
	for _, r := range all {
		if r.Alert != "" {
			alerts = append(alerts, r)
		}
	}
	return alerts
}

// board is what the tests look at of a dashboard.
type board struct {
	UID         string `json:"uid"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Templating  struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int            `json:"id"`
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Datasource  datasource     `json:"datasource"`
	GridPos     map[string]int `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Datasource   datasource `json:"datasource"`
		Expr         string     `json:"expr"`
		LegendFormat string     `json:"legendFormat"`
	} `json:"targets"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

func allBoards(t *testing.T) map[string]board {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("dashboards: %q, %v", files, err)
	}
	all := map[string]board{}
	for _, file := range files {
		var b board
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = b
	}
	return all
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
