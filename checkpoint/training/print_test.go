package training_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// TestPrintedOptions: however options are printed, what is set can be read and the
// private key cannot.
func TestPrintedOptions(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := checkpoint.Options{}
	layout, err := options.ParseLayout("zarr3")
	if err != nil {
		t.Fatal(err)
	}
	o.Bivouac.Signing, o.Bivouac.Layout = key, layout
	own := training.Options{Options: o, Clean: true, Reserve: 7, Preserve: training.LatestN{N: 3},
		Dedup: training.Dedup{On: true}, OnEvent: func(training.Event) {}}
	for _, c := range []struct {
		v    any
		want []string
	}{
		{own, []string{"zarr3", `"Clean":true`, `"Reserve":7`, `"On":true`, `"N":3`}},
		{&own, []string{`"Reserve":7`}},
		{training.SaveOptions{Options: o, Overwrite: true, Metrics: map[string]float64{"loss": 2}}, []string{"zarr3", `"Overwrite":true`, `"loss":2`}},
		{checkpoint.SaveOptions{Options: o, Overwrite: true}, []string{"zarr3", `"Overwrite":true`}},
		{checkpoint.LoadOptions{Options: o, Name: "state"}, []string{"zarr3", `"Name":"state"`}},
		{checkpoint.ConvertOptions{Options: o, Item: "state"}, []string{"zarr3", `"Item":"state"`}},
		{o, []string{"zarr3"}},
		{o.Bivouac, []string{"zarr3"}},
		{struct{ O any }{own}, []string{"zarr3"}},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(verb, c.v)
			for _, secret := range []string{string(key[:8]), hex.EncodeToString(key[:8]),
				base64.StdEncoding.EncodeToString(key[:6]), strings.Trim(fmt.Sprint([]byte(key[:4])), "[]"),
				strings.Trim(fmt.Sprintf("%#v", []byte(key[:4])), "[]byte{}")} {
				if strings.Contains(text, secret) {
					t.Errorf("%s of %T prints the key: %s", verb, c.v, text)
				}
			}
			for _, w := range c.want {
				if !strings.Contains(text, w) {
					t.Errorf("%s of %T has no %s: %s", verb, c.v, w, text)
				}
			}
		}
		text, err := json.Marshal(c.v)
		if err != nil || !json.Valid(text) {
			t.Errorf("JSON of %T: %s, %v", c.v, text, err)
		}
		if c.want[0] == "zarr3" && !strings.Contains(string(text), "zarr3") {
			if _, group := c.v.(options.Bivouac); !group {
				t.Errorf("JSON of %T: %s", c.v, text)
			}
		}
	}
}
