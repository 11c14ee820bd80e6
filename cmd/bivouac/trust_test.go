package main

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// opensslKey makes a pair of keys by the commands that the guide names.
func opensslKey(t *testing.T, dir, name string) (private, public string) {
	t.Helper()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl")
	}
	private, public = filepath.Join(dir, name+".key"), filepath.Join(dir, name+".pub")
	for _, args := range [][]string{{"genpkey", "-algorithm", "ed25519", "-out", private}, {"pkey", "-in", private, "-pubout", "-out", public}} {
		if out, err := exec.CommandContext(t.Context(), openssl, args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
	}
	return private, public
}

func TestKeysOfOpenSSL(t *testing.T) {
	private, public := opensslKey(t, t.TempDir(), "run")
	signer, err := readSigningKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := readKey(public)
	if err != nil || !key.Equal(signer.Public()) {
		t.Errorf("public key %x: %v", key, err)
	}
	for _, name := range []string{public, filepath.Join(t.TempDir(), "none")} {
		if _, err := readSigningKey(name); err == nil {
			t.Errorf("%s as a private key: no error", name)
		}
	}
}

// Every command that reads accepts only checkpoints that the key signed, under their step. convert
// signs its output.
func TestKeyOfCommands(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	private, public := opensslKey(t, dir, "run")
	_, stranger := opensslKey(t, dir, "other")
	signer, err := readSigningKey(private)
	if err != nil {
		t.Fatal(err)
	}
	saveRun := func(run string, signing ed25519.PrivateKey, steps ...int64) {
		c, err := training.Open(ctx, run, &training.Options{Options: options.Options{Bivouac: options.Bivouac{Signing: signing}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if _, err := c.Save(ctx, s, map[string]any{"w": []float32{float32(s)}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	signed, plain, replayed := filepath.Join(dir, "signed"), filepath.Join(dir, "plain"), filepath.Join(dir, "replayed")
	saveRun(signed, signer, 1, 2)
	saveRun(plain, nil, 1, 2)
	saveRun(replayed, signer, 1)
	if err := os.Rename(filepath.Join(replayed, "1"), filepath.Join(replayed, "2")); err != nil {
		t.Fatal(err)
	}
	n := 0
	out := func(name string) string { n++; return filepath.Join(dir, "out", string(rune('a'+n)), name) }
	commands := map[string]func(run, key string, g *global) error{
		"verify": func(run, key string, g *global) error {
			return runVerify(ctx, []string{run}, VerifyOptions{Step: anyStep, trust: trust{key}}, g)
		},
		"cat": func(run, key string, g *global) error {
			return runCat(ctx, run, "w", CatOptions{source: keyed(key)}, g)
		},
		"diff": func(run, key string, g *global) error {
			return runDiff(ctx, run, run, DiffOptions{trust: trust{key}}, g)
		},
		"extract": func(run, key string, g *global) error {
			return runExtract(ctx, run, []string{"w"}, ExtractOptions{source: keyed(key), Output: out("")}, g)
		},
		"convert": func(run, key string, g *global) error {
			dst := out("c")
			if err := os.MkdirAll(filepath.Dir(dst), 0o777); err != nil {
				return err
			}
			o := ConvertOptions{source: keyed(key), SignKey: private, To: "zarr3", Budget: 64}
			if err := runConvert(ctx, run, dst, o, g); err != nil {
				return err
			}
			want := integrity.VerifyOptions{Key: signer.Public().(ed25519.PublicKey)}
			if key != "" {
				want.Label = "step 2"
			}
			r, err := integrity.Verify(ctx, dst, &want)
			if err == nil && !r.OK() {
				err = r.Problems[0]
			}
			return err
		},
		"convert to npz": func(run, key string, g *global) error {
			dst := out("c.npz")
			if err := os.MkdirAll(filepath.Dir(dst), 0o777); err != nil {
				return err
			}
			return runConvert(ctx, run, dst, ConvertOptions{source: keyed(key), Budget: 64}, g)
		},
	}
	for name, command := range commands {
		for _, c := range []struct {
			run, key string
			want     errs.Kind
		}{
			{signed, public, errs.Other}, {signed, "", errs.Other}, {signed, stranger, errs.Corrupt},
			{plain, "", errs.Other}, {plain, public, errs.Corrupt}, {replayed, public, errs.Corrupt}, {replayed, "", errs.Other},
		} {
			if name == "verify" && c.run == replayed {
				c.want = errs.Corrupt // the head of the run lacks step 1, under any signature
			}
			g := &global{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, plain: true}
			if err := command(c.run, c.key, g); errs.KindOf(err) != c.want || c.want == errs.Other && err != nil {
				t.Errorf("%s of %s with key %q: %v, want %v", name, filepath.Base(c.run), filepath.Base(c.key), err, c.want)
			}
		}
	}
}

// keyed are the flags that name a key.
func keyed(key string) source { return source{trust: trust{key}, Step: anyStep} }
