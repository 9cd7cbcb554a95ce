"""diffusers: a small random U-Net draws images in 20 steps of DDIM; nothing to mend."""
import time

import torch
from diffusers import DDIMPipeline, DDIMScheduler, UNet2DModel

import clock

denoised = []


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = UNet2DModel(sample_size=32, block_out_channels=(32, 64), layers_per_block=1,
                          down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                          up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8)
    draw = DDIMPipeline(network, DDIMScheduler())
    draw.set_progress_bar_config(disable=True)
    took, pixels = [], 0
    for number in range(8):
        begin = time.perf_counter()
        images = draw(batch_size=2, num_inference_steps=20,
                      generator=torch.Generator().manual_seed(number)).images
        pixels += sum(image.size[0] * image.size[1] for image in images)
        took.append(time.perf_counter() - begin)
    clock.write("image", took)
    clock.write("denoise", [second / 20 for second in took for _ in range(20)])
    print("pixels:", pixels)


main()
