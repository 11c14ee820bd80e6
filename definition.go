package bivouac

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
)

// mostDefinition bounds the text of a definition that is kept.
const mostDefinition = 1 << 20

// definition is what the data of a job were made from.
type definition struct {
	text []byte // nil: not known, or too long
	base string
	kept bool // the run has it
}

// defined is a stream that knows what its data were made from: the text of a data.yaml, and the
// directory to which its paths are relative.
type defined interface {
	Definition() (text []byte, base string)
}

// definitionOf returns the definition of the data of a stream.
func definitionOf(data any) definition {
	d, ok := data.(defined)
	if !ok {
		return definition{}
	}
	text, base := d.Definition()
	if len(text) == 0 || len(text) > mostDefinition {
		return definition{}
	}
	return definition{text: text, base: base}
}

// file returns the name of the definition among the notes of the run.
func (d *definition) file() string {
	sum := sha256.Sum256(d.text)
	return "data-" + hex.EncodeToString(sum[:]) + ".yaml"
}

// row returns what the journal says of the definition.
func (d *definition) row() *journal.Data {
	if d.text == nil {
		return nil
	}
	return &journal.Data{Definition: d.file(), Base: d.base}
}

// keepDefinition writes the definition of the data once into the directory of the run, so that the
// samples of a step can be shown later.
func (j *Job[B]) keepDefinition(ctx context.Context) error {
	d := &j.definition
	if d.text == nil || d.kept {
		return nil
	}
	if err := j.steps.PutMetadata(ctx, d.file(), d.text); err != nil {
		return errs.Wrap("bivouac.Job", "definition of the data", err)
	}
	d.kept = true
	return nil
}
