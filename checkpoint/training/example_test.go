package training_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{
		Save:     training.FixedInterval{Steps: 10},
		Preserve: training.LatestN{N: 2},
	})
	if err != nil {
		log.Fatal(err)
	}
	weights := []float32{0, 0}
	for step := int64(1); step <= 35; step++ {
		weights[0] += 0.5
		if _, err := c.SaveAsync(ctx, step, map[string]any{"w": weights}, nil); err != nil {
			log.Fatal(err) // or the failure of an earlier save
		}
	}
	if err := c.Close(); err != nil { // waits for the last
		log.Fatal(err)
	}
	for _, in := range c.Checkpoints() {
		fmt.Println("step", in.Step)
	}

	if err := c.LoadInto(ctx, training.Latest, map[string]any{"w": weights}, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights)
	// Output:
	// step 20
	// step 30
	// [15 0]
}

// The best checkpoints by a metric are kept beside the newest.
func ExampleBestN() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := training.Open(ctx, dir, &training.Options{Preserve: training.AnyPreservation{
		training.LatestN{N: 1},
		training.BestN{Metric: "loss", Lowest: true, N: 1},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for step, loss := range []float64{0.9, 0.2, 0.4, 0.3} {
		o := &training.SaveOptions{Metrics: map[string]float64{"loss": loss}}
		if _, err := c.Save(ctx, int64(step), map[string]any{"w": []float32{1}}, o); err != nil {
			log.Fatal(err)
		}
	}
	for _, in := range c.Checkpoints() {
		fmt.Println("step", in.Step, "loss", in.Metrics["loss"])
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 1 loss 0.2
	// step 3 loss 0.3
}

// writeKey makes a private key as "openssl genpkey -algorithm ed25519 -out run.key" does.
func writeKey(file string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// readKey reads a private key from a file that openssl wrote.
func readKey(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(file + ": want a key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New(file + ": want an ed25519 key")
	}
	return private, nil
}

// A run whose steps are signed loads with the public key, and with no other.
func ExampleOptions_signing() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	file := filepath.Join(dir, "run.key")
	if err := writeKey(file); err != nil {
		log.Fatal(err)
	}
	private, err := readKey(file)
	if err != nil {
		log.Fatal(err)
	}
	o := &training.Options{}
	o.Signing = private
	run := filepath.Join(dir, "run")
	c, err := training.Open(ctx, run, o)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Save(ctx, 100, map[string]any{"w": []float32{1, 2}}, nil); err != nil {
		log.Fatal(err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}

	model := map[string]any{"w": make([]float32, 2)}
	other, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	for _, public := range []ed25519.PublicKey{private.Public().(ed25519.PublicKey), other} {
		o := &checkpoint.LoadOptions{}
		o.Verification, o.Label = public, training.Label(100)
		err := checkpoint.LoadInto(ctx, filepath.Join(run, "100"), model, o)
		fmt.Println(model["w"], errors.Is(err, errs.Corrupt))
	}
	// Output:
	// [1 2] false
	// [1 2] true
}

// Parity lets Repair mend a damaged file.
func ExampleOptions_parity() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	o := &training.Options{Preserve: training.LatestN{N: 5}, Dedup: training.Dedup{On: true}}
	o.Parity = 3 // blocks of redundancy for 100 blocks of data
	c, err := training.Open(ctx, dir, o)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Save(ctx, 100, map[string]any{"w": make([]float32, 1<<20)}, nil); err != nil {
		log.Fatal(err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}

	step := filepath.Join(dir, "100")
	if err := os.Truncate(filepath.Join(step, "commit_success.txt"), 0); err != nil { // damage
		log.Fatal(err)
	}
	if _, err := integrity.Repair(ctx, dir, &integrity.RepairOptions{Apply: true}); err != nil {
		log.Fatal(err)
	}
	report, err := integrity.Verify(ctx, step, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sound:", report.OK())
	// Output: sound: true
}
