package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	for _, tt := range []struct{ linker, recorded, want string }{
		{"v1.2.3-4-gabc", "v1.2.3", "v1.2.3-4-gabc"},
		{"", "v1.2.3", "v1.2.3"},
		{"", "(devel)", "devel"},
		{"", "", "devel"},
	} {
		if got := buildVersion(tt.linker, &debug.BuildInfo{Main: debug.Module{Version: tt.recorded}}); got != tt.want {
			t.Errorf("linker %q, recorded %q: got %q, want %q", tt.linker, tt.recorded, got, tt.want)
		}
	}
}

// Every entry has a name, a version, a licence and its text.
func TestLicencesAreComplete(t *testing.T) {
	all, err := licences(versionInfo{Version: "v9.8.7", Go: "go9.9"})
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range all {
		versions[m.Module] = m.Version
		if m.Version == "" || m.Licence == "" || len(m.Texts) == 0 {
			t.Errorf("%s: version %q, licence %q, %d texts", m.Module, m.Version, m.Licence, len(m.Texts))
		}
		for _, text := range m.Texts {
			if len(text.Text) < 60 || strings.Contains(text.Text, "=== ") {
				t.Errorf("%s: %s has %d bytes, or a heading in its text", m.Module, text.Name, len(text.Text))
			}
		}
	}
	if len(all) < 15 || versions["github.com/bivouac-ml/bivouac"] != "v9.8.7" || versions["std"] != "go9.9" {
		t.Errorf("%d modules: %v", len(all), versions)
	}
}
