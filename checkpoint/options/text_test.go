package options

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		j, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseJSON(j)
		if err != nil {
			t.Fatalf("%v in %s", err, j)
		}
		if d := cmp.Diff(o, back); d != "" {
			t.Fatalf("JSON: %s\n%s", d, j)
		}
		y, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if back, err = ParseYAML(y); err != nil {
			t.Fatalf("%v in %s", err, y)
		}
		if d := cmp.Diff(o, back); d != "" {
			t.Fatalf("YAML: %s\n%s", d, y)
		}
		var decoded Options
		if err := yaml.Unmarshal(y, &decoded); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(o, decoded); d != "" {
			t.Fatalf("YAML by its library: %s\n%s", d, y)
		}
	})
}

func TestOnlyWhatIsSet(t *testing.T) {
	o := Options{}
	if got := o.String(); got != "{}" {
		t.Errorf("zero options are %s", got)
	}
	o.Array.Saving.UseZarr3 = Off
	o.Memory.ReadConcurrentBytes = Unlimited
	o.Multiprocessing.PrimaryHost = new(EveryHost)
	o.Array.Saving.OCDBTTargetDataFileSize = Unlimited
	o.Array.Saving.Storage.ShardAxes = []int{}
	o.Asynchronous.PostFinalizationCallback = func() {}
	const want = `{"array":{"saving":{"storage_options":{"shard_axes":[]},"use_zarr3":false,"ocdbt_target_data_file_size":0}},` +
		`"multiprocessing":{"primary_host":null},"memory":{"read_concurrent_bytes":null}}`
	if d := cmp.Diff(want, o.String()); d != "" {
		t.Error(d)
	}
}

// What Orbax's own Context looks like as JSON is read.
func TestOrbaxContext(t *testing.T) {
	b, err := os.ReadFile("testdata/defaults.json")
	if err != nil {
		t.Fatal(err)
	}
	var orbax struct{ Defaults map[string]any }
	if err := json.Unmarshal(b, &orbax); err != nil {
		t.Fatal(err)
	}
	nested := map[string]any{}
	for name, v := range orbax.Defaults {
		if s, ok := v.(string); ok && strings.HasPrefix(s, "<") {
			continue // a class
		}
		at, keys := nested, strings.Split(name, ".")
		for _, k := range keys[:len(keys)-1] {
			if at[k] == nil {
				at[k] = map[string]any{}
			}
			at = at[k].(map[string]any)
		}
		at[keys[len(keys)-1]] = v
	}
	text, err := json.Marshal(nested)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := o.StoredLayout(); err != nil || l != OCDBTZarr3 {
		t.Errorf("layout %v, %v", l, err)
	}
	if c, err := o.StoredCompression(); err != nil || c != Zstd {
		t.Errorf("compression %v, %v", c, err)
	}
	if o.Memory.WriteConcurrentBytes != Unlimited || *o.Multiprocessing.PrimaryHost != 0 {
		t.Errorf("%v", o)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		name, json, yaml string
		want             []string
	}{
		{"misspelt", `{"array": {"saving": {"use_zar3": true}}}`, "array:\n  saving:\n    use_zar3: true", []string{"array.saving.use_zar3", "did you mean \"use_zarr3\"?"}},
		{"another level", `{"use_zarr3": true}`, "use_zarr3: true", []string{"did you mean \"array.saving.use_zarr3\"?"}},
		{"nothing near", `{"colour": 1}`, "colour: 1", []string{"colour", "unknown"}},
		{"function", `{"memory": {"is_prioritized_key_fn": "f"}}`, "memory: {is_prioritized_key_fn: f}", []string{"IsPrioritizedKey"}},
		{"private key", `{"bivouac": {"signing_key": "x"}}`, "bivouac: {signing_key: x}", []string{"set Signing"}},
		{"twice", `{"file": {}, "file": {}}`, "file: {}\nfile: {}", []string{"file", "once"}},
		{"toggle as number", `{"array": {"saving": {"use_ocdbt": 1}}}`, "array: {saving: {use_ocdbt: 1}}", []string{"array.saving.use_ocdbt", "true or false", "got 1"}},
		{"toggle as word", `{"array": {"saving": {"use_ocdbt": "yes"}}}`, "array: {saving: {use_ocdbt: yes}}", []string{"true or false", "got yes"}},
		{"group as list", `{"array": []}`, "array: []", []string{"array", "a mapping", "a list"}},
		{"list as number", `{"multiprocessing": {"active_processes": 3}}`, "multiprocessing: {active_processes: 3}", []string{"a list"}},
		{"null in a list", `{"multiprocessing": {"active_processes": [null]}}`, "multiprocessing: {active_processes: [null]}", []string{"null"}},
		{"fraction", `{"safetensors": {"read_chunk_bytes": 1.5}}`, "safetensors: {read_chunk_bytes: 1.5}", []string{"an integer"}},
		{"overflow", `{"safetensors": {"read_chunk_bytes": 1e30}}`, "safetensors: {read_chunk_bytes: 1e30}", []string{"an integer"}},
		{"no bytes", `{"memory": {"read_concurrent_bytes": 0}}`, "memory: {read_concurrent_bytes: 0}", []string{"at least 1", "null"}},
		{"no time", `{"asynchronous": {"timeout_secs": 0}}`, "asynchronous: {timeout_secs: 0}", []string{"seconds"}},
		{"endless time", `{"asynchronous": {"timeout_secs": 1e300}}`, "asynchronous: {timeout_secs: 1e300}", []string{"seconds"}},
		{"negative host", `{"multiprocessing": {"primary_host": -1}}`, "multiprocessing: {primary_host: -1}", []string{"null for every process"}},
		{"dtype", `{"array": {"saving": {"storage_options": {"dtype": "float33"}}}}`, "array: {saving: {storage_options: {dtype: float33}}}", []string{"storage_options.dtype", "element type"}},
		{"layout", `{"bivouac": {"layout": "zarr4"}}`, "bivouac: {layout: zarr4}", []string{"one of", "ocdbt-zarr3"}},
		{"family", `{"checkpoint_layout": "numpy"}`, "checkpoint_layout: numpy", []string{"orbax"}},
		{"mode in decimal", `{"file": {"path_permission_mode": 750}}`, "file: {path_permission_mode: 750}", []string{"file.path_permission_mode", "488"}},
		{"key", `{"bivouac": {"verification_key": "AAAA"}}`, "bivouac: {verification_key: AAAA}", []string{"base64"}},
		{"annotation", `{"bivouac": {"annotations": {"n": 7}}}`, "bivouac: {annotations: {n: 7}}", []string{"annotations.n", "quotes"}},
		{"contradiction", `{"bivouac": {"layout": "zarr3"}, "array": {"saving": {"use_ocdbt": true}}}`, "bivouac: {layout: zarr3}\narray: {saving: {use_ocdbt: true}}", []string{"array.saving.use_ocdbt", "bivouac.layout"}},
		{"leaf pattern", `{"bivouac": {"leaf_storage": [{"match": "["}]}}`, `bivouac: {leaf_storage: [{match: "["}]}`, []string{"bivouac.leaf_storage[0].match"}},
		{"leaf name", `{"bivouac": {"leaf_storage": [{"mach": "a"}]}}`, `bivouac: {leaf_storage: [{mach: a}]}`, []string{"leaf_storage[0].mach", "did you mean \"match\"?"}},
		{"two values", `{} {}`, "--- {}\n--- {}", []string{"line 1"}},
		{"no syntax", `{"array":`, "array: [", []string{"line 1"}},
		{"nothing", ``, "[]", []string{"line 1"}},
		{"deep", strings.Repeat(`{"array":`, 40) + "1" + strings.Repeat("}", 40), strings.Repeat(`{array: `, 40) + "1" + strings.Repeat("}", 40), []string{"nested too deep"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for syntax, parse := range map[string]func() (Options, error){
				"JSON": func() (Options, error) { return ParseJSON([]byte(c.json)) },
				"YAML": func() (Options, error) { return ParseYAML([]byte(c.yaml)) },
			} {
				o, err := parse()
				if !errors.Is(err, errs.Invalid) {
					t.Errorf("%s: %v, %v", syntax, o, err)
					continue
				}
				for _, w := range c.want {
					if syntax == "YAML" && w == "line 1" {
						w = "line "
					}
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%s: %v does not say %q", syntax, err, w)
					}
				}
			}
		})
	}
}

func TestYAMLRefuses(t *testing.T) {
	for _, text := range []string{"file: &a {}", "file: {}\narray: *a", "a: &a [*a]", "file: !!map {}", "? [a]\n: 1",
		"1: 2", "<<: {file: {}}", "file: {<<: {}}"} {
		if o, err := ParseYAML([]byte(text)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v, %v", text, o, err)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "null", "{}", "array:\n  saving: null\n", "array: ~"} {
		if o, err := ParseYAML([]byte(text)); err != nil || o.String() != "{}" {
			t.Errorf("%q: %v, %v", text, o, err)
		}
	}
	o, err := ParseYAML([]byte("file: {path_permission_mode: 0o750}"))
	if err != nil || o.File.PathPermissionMode != 0o750 {
		t.Errorf("octal: %v, %v", o, err)
	}
}

func TestPositions(t *testing.T) {
	const j = "{\n  \"array\": {\n    \"saving\" : {\"x\": 1, \"use_zarr3\" :  7}\n  }\n}"
	for text, want := range map[string]string{
		j:                                     "line 3, column 17",
		strings.Replace(j, `"x": 1, `, "", 1): "line 3, column 32",
		"{\"file\": {},\n\n \"file\": {}}":    "line 3, column 2",
		"{\"file\": {}} \n 7":                 "line 2, column 2",
		"{\"file\": {},\n  oops}":             "line 2, column 3",
	} {
		if _, err := ParseJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	if _, err := ParseYAML([]byte("array:\n  saving:\n    use_zarr3: 7\n")); err == nil ||
		!strings.Contains(err.Error(), "line 3, column 16") {
		t.Error(err)
	}
}

func TestTooLong(t *testing.T) {
	long := []byte(strings.Repeat(" ", maxText) + "{}")
	for _, parse := range []func([]byte) (Options, error){ParseJSON, ParseYAML} {
		if _, err := parse(long); !errors.Is(err, errs.Invalid) {
			t.Errorf("a text of %d bytes: %v", len(long), err)
		}
	}
}

func fuzz(f *testing.F, parse func([]byte) (Options, error), print func(Options) ([]byte, error)) {
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := parse(b)
		if err != nil {
			if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Unsupported) {
				t.Errorf("%v has no kind", err)
			}
			return
		}
		if err := o.Validate(); err != nil {
			t.Errorf("parsed what is refused: %v", err)
		}
		text, err := print(o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse(text)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if d := cmp.Diff(o, back); d != "" {
			t.Errorf("%s\n%s", d, text)
		}
	})
}

const seedJSON = `{"checkpoint_layout":"auto","array":{"saving":{"storage_options":{"dtype":"float16","shard_axes":[0]},"use_zarr3":false,` +
	`"ocdbt_target_data_file_size":0},"loading":{"load_and_broadcast_options":{"broadcast_memory_scaling_factor":0.5}}},` +
	`"asynchronous":{"timeout_secs":1.5},"multiprocessing":{"primary_host":null},"memory":{"read_concurrent_bytes":null},` +
	`"bivouac":{"compression":"zstd","annotations":{"a":"b"},"leaf_storage":[{"match":"a/**","storage_options":{"chunk_byte_size":9}}]}}`

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{seedJSON, `{}`, `{"array": null}`, `{"a":`, `[]`, "\xff"} {
		f.Add([]byte(s))
	}
	fuzz(f, ParseJSON, func(o Options) ([]byte, error) { return json.Marshal(o) })
}

func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{seedJSON, "file: {path_permission_mode: 0o750}", "a: &a [*a, *a]",
		"array:\n  saving: {use_ocdbt: true}\n", "bivouac: {annotations: {'1': \"\\0\"}}"} {
		f.Add([]byte(s))
	}
	fuzz(f, ParseYAML, func(o Options) ([]byte, error) { return yaml.Marshal(o) })
}

// Names of the embedded group are refused outside of it.
func TestEmbeddedGroupHasAName(t *testing.T) {
	for _, s := range []string{`{"layout": "zarr3"}`, `{"annotations": {}}`, `{"label": null}`} {
		if _, err := ParseJSON([]byte(s)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", s, err)
		}
		if _, err := ParseYAML([]byte(s)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s in YAML: %v", s, err)
		}
	}
}
