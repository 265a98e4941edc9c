"""Small networks of PyTorch, with random weights, that the tests align."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Two convolutions with batch normalisation and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + shortcut)


class ResNet(nn.Module):
    """A stem, two blocks and a linear layer, named as in torchvision."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2))
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.layer1(F.relu(self.bn1(self.conv1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Encoder(nn.Module):
    """A layer of a transformer on sequences of vectors."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 16)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.layer(self.embed(x)).mean(1))


class Lstm(nn.Module):
    """Two layers of an LSTM in both directions."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Tied(nn.Module):
    """Words to words: the weights of the embedding are those of the output; tensors that are no parameters take part."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(5, 8)
        self.hidden, self.back = nn.Linear(8, 16), nn.Linear(16, 8)
        self.output = nn.Linear(8, 11, bias=False)
        self.output.weight = self.words.weight
        self.scale = torch.tensor(2.0)

    def forward(self, x):
        x = self.words(x) * self.scale + self.places(torch.arange(x.shape[1]))
        return self.output(self.back(F.gelu(self.hidden(x))))


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3))


def cnn():
    head = (nn.Linear(54, 10), nn.Dropout(0.5), nn.ReLU(), nn.Linear(10, 3))
    return nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), *head)


# What makes each network, its inputs, and the number of its units that can be permuted.
NETWORKS = {
    "mlp": (mlp, lambda: torch.randn(20, 4), 14),
    "cnn": (cnn, lambda: torch.randn(4, 1, 8, 8), 16),
    "resnet": (ResNet, lambda: torch.randn(2, 3, 8, 8), 48),
    "encoder": (Encoder, lambda: torch.randn(3, 5, 4), 84),
    "lstm": (Lstm, lambda: torch.randn(3, 5, 6), 32),
    "tied": (Tied, lambda: torch.randint(0, 11, (3, 5)), 24),
}


def make(name, seed=0):
    """A network in evaluation mode with random weights and statistics, and inputs."""
    torch.manual_seed(seed)
    network, inputs, _ = NETWORKS[name]
    model = network().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    for buffer in model.buffers():
        if buffer.is_floating_point():
            nn.init.uniform_(buffer, 0.5, 1.5)
    return model, inputs()


def run(model, inputs):
    """A function that runs the model with the tensors of a state dict."""

    def predict(state):
        with torch.no_grad():
            return torch.func.functional_call(model, state, (inputs,), tie_weights=False)

    return predict


def train(model, inputs, targets, loss, steps=50, optimizer=None):
    """A few steps on all examples."""
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()
    return model.eval()
