package bivouac

import (
	"bytes"
	"context"
	"regexp"

	"github.com/bivouac-ml/bivouac/order"
)

// digestInState finds the identity of an order in the state of a stream, if the identity is a
// digest.
var digestInState = regexp.MustCompile(`[a-z]+\(digest=[0-9a-f]{32} bytes=[0-9]+\)`)

// keepDescription writes the description of the order once into the directory of the run, as
// metadata/order-<digest>.txt, if the state of the stream has only a digest of it. Such a stream is
// a loader, or another stream with a method Description.
func (j *Job[B]) keepDescription(ctx context.Context, token []byte) error {
	d, ok := j.data.(interface{ Description() string })
	if !ok || !bytes.Contains(token, []byte("(digest=")) {
		return nil
	}
	identity := string(digestInState.Find(token))
	if identity == "" || identity == j.order {
		return nil
	}
	description := d.Description()
	if order.IdentityOf(description) != identity {
		return nil // the digest belongs to another order
	}
	if err := j.steps.PutMetadata(ctx, descriptionFile(identity), []byte(description)); err != nil {
		return err
	}
	j.order = identity
	return nil
}
