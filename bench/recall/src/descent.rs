//! Gradient descent for the matrix: the tool that is meant is to be nearer to its request than every other tool.
//!
//! ```text
//! moved = request + request · W, of length one
//! loss  = − log softmax(moved · tools / TEMPERATURE)[the tool that is meant], and W may not grow much
//! ```
//!
//! Steps are those of Adam. Everything is the same in every run.

use mcpproxy_embed::DIMENSIONS;

type Numbers = [f32; DIMENSIONS];

/// Steps, requests of one step, and how far the first step goes.
const STEPS: usize = 120;
const BATCH: usize = 512;
const RATE: f32 = 0.001;

/// How much nearer the tool that is meant has to be.
const TEMPERATURE: f32 = 0.05;

/// Pull of the matrix towards zero, where requests stay as they are.
const DECAY: f32 = 0.03;

/// Shares of the past in what Adam remembers, and what keeps it from dividing by zero.
const MEMORY: f32 = 0.9;
const SQUARE_MEMORY: f32 = 0.999;
const TINY: f32 = 1e-8;

/// Requests with the places of the tools they are about, and all tools they are told from.
pub(crate) struct Examples {
    pub(crate) pairs: Vec<(Numbers, usize)>,
    pub(crate) tools: Vec<Numbers>,
}

/// Descent under way.
pub(crate) struct Fit {
    examples: Vec<Examples>,
    matrix: Matrix,
    mean: Matrix,
    squares: Matrix,
    random: u64,
}

/// Rows of a matrix that is as high as it is wide.
type Matrix = Vec<Numbers>;

// === impl Examples ===

impl Examples {
    fn pairs_and_tools(&self) -> impl Iterator<Item = (&(Numbers, usize), &[Numbers])> {
        self.pairs.iter().map(|pair| (pair, &*self.tools))
    }
}

// === impl Fit ===

impl Fit {
    pub(crate) fn new(examples: Vec<Examples>) -> Self {
        Self {
            examples,
            matrix: zeros(),
            mean: zeros(),
            squares: zeros(),
            random: 7,
        }
    }

    pub(crate) fn run(mut self) -> Matrix {
        let (mut past, mut squared_past) = (1.0, 1.0);
        for step in 0..STEPS {
            let slopes = self.slopes();
            // The first steps go far, the last ones settle.
            #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
            let rate = RATE * (1.0 - step as f32 / STEPS as f32);
            past *= MEMORY;
            squared_past *= SQUARE_MEMORY;
            let rows = self.matrix.iter_mut().zip(self.mean.iter_mut());
            let rows = rows.zip(self.squares.iter_mut()).zip(slopes.iter());
            for (((row, mean), squares), slopes) in rows {
                for place in 0..DIMENSIONS {
                    let slope = slopes[place] + DECAY * row[place];
                    mean[place] = MEMORY * mean[place] + (1.0 - MEMORY) * slope;
                    squares[place] =
                        SQUARE_MEMORY * squares[place] + (1.0 - SQUARE_MEMORY) * slope * slope;
                    let size = (squares[place] / (1.0 - squared_past)).sqrt() + TINY;
                    row[place] -= rate * mean[place] / (1.0 - past) / size;
                }
            }
        }
        self.matrix
    }

    /// Slopes of the loss over requests that are drawn from all examples.
    fn slopes(&mut self) -> Matrix {
        let mut slopes = zeros();
        let total: usize = self.examples.iter().map(|one| one.pairs.len()).sum();
        for _ in 0..BATCH.min(total) {
            let place = self.below(total);
            let mut pairs = self.examples.iter().flat_map(Examples::pairs_and_tools);
            let Some(((request, meant), tools)) = pairs.nth(place) else {
                break;
            };
            let slope = slope_of(&self.moved(request), tools, *meant);
            for (row, number) in slopes.iter_mut().zip(request) {
                #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
                add(row, &slope, number / BATCH as f32);
            }
        }
        slopes
    }

    fn moved(&self, request: &Numbers) -> Numbers {
        let mut moved = *request;
        for (row, number) in self.matrix.iter().zip(request) {
            add(&mut moved, row, *number);
        }
        moved
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % limit.max(1) as u64).unwrap_or_default()
    }
}

fn zeros() -> Matrix {
    vec![[0.0; DIMENSIONS]; DIMENSIONS]
}

/// Slope of the loss of one request, where its vector was moved to.
fn slope_of(moved: &Numbers, tools: &[Numbers], meant: usize) -> Numbers {
    let length = dot(moved, moved).sqrt();
    let direction = moved.map(|one| one / length);
    let near = tools.iter().map(|tool| dot(&direction, tool) / TEMPERATURE);
    let near: Vec<f32> = near.collect();
    let most = near.iter().fold(f32::MIN, |most, one| most.max(*one));
    let mut shares: Vec<f32> = near.iter().map(|one| (one - most).exp()).collect();
    let sum: f32 = shares.iter().sum();
    for share in &mut shares {
        *share /= sum;
    }
    shares[meant] -= 1.0;
    let mut slope = [0.0; DIMENSIONS];
    for (tool, share) in tools.iter().zip(&shares) {
        add(&mut slope, tool, *share / TEMPERATURE);
    }
    // What only makes the vector longer changes nothing.
    let along = dot(&slope, &direction);
    add(&mut slope, &direction, -along);
    slope.map(|one| one / length)
}

fn add(sum: &mut Numbers, numbers: &Numbers, factor: f32) {
    for (sum, number) in sum.iter_mut().zip(numbers) {
        *sum += factor * number;
    }
}

/// Product of two vectors, in sixteen sums so that the compiler makes it wide.
fn dot(one: &Numbers, other: &Numbers) -> f32 {
    let mut sums = [0.0; 16];
    for (one, other) in one
        .as_chunks::<16>()
        .0
        .iter()
        .zip(other.as_chunks::<16>().0)
    {
        for (sum, (one, other)) in sums.iter_mut().zip(one.iter().zip(other)) {
            *sum += one * other;
        }
    }
    sums.iter().sum()
}
