"""What to say about flags of vLLM that set nothing here."""

from __future__ import annotations

from types import MappingProxyType

_SPECULATION = "speculative decoding is not modelled"
_PARALLEL = "data, expert and context parallelism are not modelled: one engine is simulated"
_CONNECTOR = "KV connectors and offloading are not modelled"
_LORA = "LoRA slots are not modelled"
_IMAGES = "multimodal inputs are not modelled"
_STEP_TIME = "it changes how long a step takes, not what is scheduled; give step times that were measured with it"

REMOVED = MappingProxyType(
    {
        "--swap-space": "V1 has no swapping: a preempted request is computed again (nearest: --kv-offloading-size)",
        "--preemption-mode": "V1 always recomputes; the what-if preemption_mode = swap shows the other way",
        "--max-num-partial-prefills": "use --long-prefill-token-threshold to keep long prompts from filling a step",
        "--max-long-partial-prefills": "use --long-prefill-token-threshold to keep long prompts from filling a step",
        "--num-scheduler-steps": "multi-step scheduling was replaced by --async-scheduling",
        "--multi-step-stream-outputs": "multi-step scheduling was replaced by --async-scheduling",
        "--scheduler-delay-factor": "nothing delays a prompt now; nearest is --prefill-schedule-interval",
        "--use-v2-block-manager": "V1 has one block manager",
        "--num-lookahead-slots": "V1 works it out from --speculative-config",
        "--disable-async-output-proc": "use --no-async-scheduling",
        "--speculative-model": "it is part of --speculative-config",
        "--num-speculative-tokens": "it is part of --speculative-config",
        "--max-seq-len-to-capture": "it became --max-cudagraph-capture-size",
        "--cuda-graph-sizes": "it became --cudagraph-capture-sizes",
        "--guided-decoding-backend": "it became part of --structured-outputs-config",
        "--rope-scaling": "it became part of --hf-overrides",
        "--rope-theta": "it became part of --hf-overrides",
        "--device": "vLLM finds the device by itself",
        "--task": "it became --runner and --convert",
        "--disable-frontend-multiprocessing": "V1 always runs the engine in a process of its own",
    }
)
"""Flag that vLLM had -> what took its place."""

IGNORED = MappingProxyType(
    {
        "--config": "the file is not here; paste what it says as flags",
        "--scheduler-cls": "only vLLM's own scheduler is simulated",
        "--max-num-queued-reqs": "requests are never refused here",
        "--max-num-queued-tokens": "requests are never refused here",
        "--stream-interval": "every token counts when it is made, not when it is sent",
        "--performance-mode": "throughput mode doubles the default budget and max_num_seqs: set them",
        "--kv-offloading-size": _CONNECTOR,
        "--kv-offloading-backend": _CONNECTOR,
        "--kv-transfer-config": _CONNECTOR,
        "--ec-transfer-config": _CONNECTOR,
        "--kv-events-config": "events are not published here",
        "--speculative-config": _SPECULATION,
        "--spec-method": _SPECULATION,
        "--spec-model": _SPECULATION,
        "--spec-tokens": _SPECULATION,
        "--data-parallel-size": _PARALLEL,
        "--data-parallel-size-local": _PARALLEL,
        "--enable-expert-parallel": _PARALLEL,
        "--decode-context-parallel-size": _PARALLEL,
        "--prefill-context-parallel-size": _PARALLEL,
        "--enable-lora": _LORA,
        "--max-loras": _LORA,
        "--lora-modules": _LORA,
        "--limit-mm-per-prompt": _IMAGES,
        "--disable-chunked-mm-input": _IMAGES,
        "--quantization": "weights are taken as the model's config.json has them",
        "--dtype": "weights and computing are taken to be in 16 bits",
        "--cpu-offload-gb": "all weights are taken to be on the GPU",
        "--prefix-caching-hash-algo": "equal text has equal hashes here, whatever the algorithm",
        "--prefix-match-unit": "a hit ends at a block here",
        "--disable-hybrid-kv-cache-manager": "models with sliding windows or state are not modelled",
        "--enable-hybrid-kv-cache-manager": "models with sliding windows or state are not modelled",
        "--watermark-config": "it marks generated text; the blocks kept free are --watermark",
        "--enforce-eager": _STEP_TIME,
        "--optimization-level": _STEP_TIME,
        "--compilation-config": _STEP_TIME,
        "--attention-backend": _STEP_TIME,
        "--attention-config": _STEP_TIME,
        "--cudagraph-capture-sizes": _STEP_TIME,
        "--max-cudagraph-capture-size": _STEP_TIME,
    }
)
"""Flag of vLLM 0.33.0 that sets nothing here, though one might think so -> why."""
