package cluster_test

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

// variables reads "A=1 B=2".
func variables(text string) func(string) string {
	all := map[string]string{}
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

const (
	torchrun = "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 TORCHELASTIC_RUN_ID=run7 MASTER_ADDR=a MASTER_PORT=1 "
	srun     = "SLURM_PROCID=2 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0 SLURM_JOB_ID=991 SLURM_STEP_ID=0 " +
		"SLURMD_NODENAME=n3 "
	openMPI = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=1 " +
		"PMIX_NAMESPACE=prte-1 "
)

func TestFromEnvironment(t *testing.T) {
	for text, want := range map[string]cluster.Environment{
		"":       {World: 1, LocalRank: -1},
		torchrun: {System: "torchrun", Rank: 5, World: 8, LocalRank: 1, Job: "run7"},
		srun:     {System: "slurm", Rank: 2, World: 4, Job: "991", Host: "n3"},
		"SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_STEP_ID=1": {System: "slurm", Rank: 3, World: 4, LocalRank: -1},
		openMPI: {System: "openmpi", Rank: 1, World: 2, LocalRank: 1, Job: "prte-1"},
		"PMI_RANK=0 PMI_SIZE=3 MPI_LOCALRANKID=0":                                      {System: "pmi", World: 3},
		"JOB_COMPLETION_INDEX=2 BIVOUAC_WORLD=3":                                       {System: "kubernetes", Rank: 2, World: 3, LocalRank: -1},
		"JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2":                                         {System: "jax", Rank: 1, World: 2, LocalRank: -1},
		"JAX_PROCESS_ID=1 JAX_PROCESS_COUNT=2 JAX_LOCAL_PROCESS_ID=0":                  {System: "jax", Rank: 1, World: 2},
		"BIVOUAC_RANK=1 BIVOUAC_WORLD=2 BIVOUAC_HOST=h BIVOUAC_COORDINATOR=etcd://e:1": {System: "bivouac", Rank: 1, World: 2, LocalRank: -1, Host: "h", Coordinator: "etcd://e:1"},
		// Two launchers: the inner one counts.
		srun + torchrun:                          {System: "torchrun", Rank: 5, World: 8, LocalRank: 1, Job: "run7"},
		srun + openMPI:                           {System: "openmpi", Rank: 1, World: 2, LocalRank: 1, Job: "prte-1"},
		srun + "PMI_RANK=2 PMI_SIZE=4":           {System: "pmi", Rank: 2, World: 4, LocalRank: -1},
		"JOB_COMPLETION_INDEX=1 " + torchrun:     {System: "torchrun", Rank: 5, World: 8, LocalRank: 1, Job: "run7"},
		"BIVOUAC_RANK=0 BIVOUAC_WORLD=1 " + srun: {System: "bivouac", World: 1, LocalRank: -1},
		"BIVOUAC_JOB=mine " + torchrun:           {System: "torchrun", Rank: 5, World: 8, LocalRank: 1, Job: "mine"},
		// A batch script, or an allocation, in which srun has not started this process.
		"SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_JOB_ID=991": {World: 1, LocalRank: -1},
	} {
		got, err := cluster.FromEnvironment(variables(text))
		if err != nil || got != want {
			t.Errorf("%s:\nwant %+v\ngot  %+v, %v", text, want, got, err)
		}
	}
}

// What makes no sense is an error that names the variable.
func TestBadEnvironment(t *testing.T) {
	for text, want := range map[string]string{
		"RANK=1":                                        "WORLD_SIZE: invalid: want a number beside RANK=1",
		"WORLD_SIZE=2":                                  "RANK: invalid: want a number beside WORLD_SIZE=2",
		"RANK=2 WORLD_SIZE=2":                           "RANK: invalid: want less than WORLD_SIZE=2, got 2",
		"RANK=-1 WORLD_SIZE=2":                          `RANK: invalid: want a number from 0 to 100000, got "-1"`,
		"RANK=one WORLD_SIZE=2":                         `got "one"`,
		"RANK=0 WORLD_SIZE=0":                           `WORLD_SIZE: invalid: want a number from 1`,
		"RANK=0 WORLD_SIZE=1e3":                         `got "1e3"`,
		"RANK=0 WORLD_SIZE=99999999999999999999":        "WORLD_SIZE: invalid",
		"RANK=0 WORLD_SIZE=2 LOCAL_RANK=2":              "LOCAL_RANK: invalid: want a number from 0 to 1",
		"BIVOUAC_RANK=0 " + torchrun:                    "BIVOUAC_WORLD: invalid",
		"BIVOUAC_WORLD=8 " + torchrun:                   "BIVOUAC_RANK: invalid",
		"JOB_COMPLETION_INDEX=1":                        "set BIVOUAC_WORLD to the completions of the Job",
		"JOB_COMPLETION_INDEX=3 BIVOUAC_WORLD=3":        "JOB_COMPLETION_INDEX: invalid: want less than BIVOUAC_WORLD=3",
		"OMPI_COMM_WORLD_RANK=0":                        "OMPI_COMM_WORLD_SIZE: invalid",
		"PMI_SIZE=4":                                    "PMI_RANK: invalid",
		"JAX_PROCESS_ID=0":                              "JAX_NUM_PROCESSES: invalid",
		"SLURM_PROCID=4 SLURM_NTASKS=4 SLURM_STEP_ID=0": "SLURM_PROCID: invalid: want less than SLURM_NTASKS=4",
	} {
		_, err := cluster.FromEnvironment(variables(text))
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }
