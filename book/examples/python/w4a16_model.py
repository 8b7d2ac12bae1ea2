"""A transformer with weights of 4 bits: every `nn.Linear` of its layers becomes `operators.LinearW4A16`.

    python3 w4a16_model.py [--hidden 4096 --layers 8 --tokens 128]

The weights are random, so the text means nothing; the logits are compared with those of the same model with the 4-bit weights widened
to f16, and the tokens a second with those of the original in eager mode and compiled.
"""

import argparse
import copy
import time

import torch
import transformers
from operators import LinearW4A16, dequantize


def replace(model: torch.nn.Module, make) -> int:
    """Replaces the linear layers that the kernel takes. Returns their number."""
    count = 0
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear) and name != "lm_head" and LinearW4A16.fits(child):
                setattr(module, name, make(child))
                count += 1
    return count


def widened(linear: torch.nn.Linear) -> torch.nn.Linear:
    """Returns a layer with the weights that 4 bits keep."""
    quantized = LinearW4A16(linear)
    with torch.no_grad():
        linear.weight.copy_(dequantize(quantized.codes, quantized.scale, quantized.zero))
    return linear


@torch.no_grad()
def generate(model, prompt, tokens, compiled):
    """Returns the most likely tokens, and the tokens a second after the first two."""
    device = prompt.device
    length = prompt.shape[1] + tokens + 1
    cache = transformers.StaticCache(config=model.config, max_cache_len=length)

    def step(ids, position):
        logits = model(input_ids=ids, past_key_values=cache, cache_position=position, use_cache=True).logits
        return logits[:, -1].argmax(-1, keepdim=True)

    ids = step(prompt, torch.arange(prompt.shape[1], device=device))
    if compiled:
        step = torch.compile(step, mode="reduce-overhead", fullgraph=True)
    out, start = [ids], 0.0
    for number in range(tokens):
        if number == 4:
            if device.type == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
        position = torch.tensor([prompt.shape[1] + number], device=device)
        ids = step(ids, position).clone()
        out.append(ids)
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return torch.cat(out, 1), (tokens - 4) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=32)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=args.hidden,
        intermediate_size=args.hidden * 11 // 4 // 256 * 256,
        num_hidden_layers=args.layers,
        num_attention_heads=args.hidden // 128,
        num_key_value_heads=max(args.hidden // 512, 1),
        vocab_size=32000 if device == "cuda" else 512,
    )
    model = transformers.LlamaForCausalLM(config).to(device, torch.float16).eval()
    prompt = torch.randint(0, config.vocab_size, (1, args.prompt), device=device)
    rounded = copy.deepcopy(model)
    count = replace(rounded, widened)
    small = copy.deepcopy(model)
    replace(small, LinearW4A16)

    with torch.no_grad():
        reference, logits = rounded(prompt).logits.float(), small(prompt).logits.float()
    error = (logits - reference).abs().max().item()
    scale = reference.abs().max().item()
    print(f"{count} layers replaced; logits up to {scale:.3f}, largest difference {error:.4f}")
    assert error < 0.01 * scale + 0.02, "the logits differ"

    del rounded
    for name, it, compiled in [
        ("f16, eager", model, False),
        ("4 bits by hx, eager", small, False),
        ("f16, torch.compile", model, True),
        ("4 bits by hx, torch.compile", small, True),
    ]:
        if compiled and device == "cpu":
            continue
        tokens, rate = generate(it, prompt, args.tokens, compiled)
        print(f"{name:28} {rate:8.1f} tokens/s   {tokens[0, :6].tolist()}")


if __name__ == "__main__":
    main()
