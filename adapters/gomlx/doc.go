// Package gomlx lets a trainer on GoMLX continue exactly after any interruption.
//
// A State saves the variables of a GoMLX context: weights, the moments of the optimizer, the global
// step, the state of the random generator. A Dataset gives the batches of a bivouac.Job to a loop
// of GoMLX. Together they make a training loop whose killed runs end with the same weights, bit for
// bit:
//
//	ctx := context.New().Checked(false) // a restored variable exists before the model asks for it
//	trainer := train.NewTrainer(backend, ctx, model, loss, optimizer, nil, nil)
//	job, err := bivouac.Open(ctx0, "runs/1", data, bivouac.Options{State: gomlx.NewState(ctx), Steps: 1000})
//	if err != nil {
//		return err
//	}
//	defer job.Close()
//	ds := gomlx.NewDataset(ctx0, job, convert)
//	defer ds.Close()
//	_, err = train.NewLoop(trainer).RunEpochs(ds, 1)
//
// # What a step is
//
// A step of the job is one batch that the loop took. It is done when the loop asks for the next
// batch. So nothing may stand between the loop and the Dataset that reads ahead, such as GoMLX's
// Parallel or ReadAhead: the job would commit steps that the trainer has not done. Pipelines and
// loaders of Bivouac read ahead by themselves.
//
// # Names
//
// A variable of the scope "/model/dense" with the name "weights" is the array model.dense.weights
// of the checkpoint, as Orbax and safetensors name it. A checkpoint that another program wrote can
// be loaded, after surgery where the names differ: checkpoint.LoadAndTransform gives the tree for
// State.SetTree.
package gomlx
